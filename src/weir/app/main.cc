// The command line of `weir`. Its parser is slow to compile and stays out of other files.
#include <cstdio>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "weir/app/config.h"
#include "weir/app/serve.h"
#include "weir/load/command.h"
#include "weir/runtime/real_world.h"

namespace weir {
namespace {

/// A settings file is not larger.
constexpr size_t kConfigFileBytesMax = 1 << 20;

/// What was given on the command line; it overrides the file.
struct ServeFlags {
  std::optional<std::string> config_file;
  std::optional<std::string> data_dir;
  std::optional<std::string> listen_fluss;
  std::optional<std::string> log_level;
};

void AddServe(CLI::App& app, ServeFlags& flags) {
  CLI::App& serve =
      *app.add_subcommand("serve", "Serve tables until told to stop (SIGTERM, SIGINT)");
  serve.add_option("--data-dir", flags.data_dir, "Where all data lives; made if it is missing")
      ->type_name("DIR");
  serve
      .add_option("--listen-fluss", flags.listen_fluss,
                  "Where Fluss clients connect (default: 127.0.0.1:9123)")
      ->type_name("HOST:PORT");
  serve.add_option("--config", flags.config_file, "Settings (TOML); flags override them")
      ->type_name("FILE");
  serve.add_option("--log-level", flags.log_level, "debug, info, warn or error (default: info)")
      ->type_name("LEVEL");
}

Result<Config> ToConfig(const ServeFlags& flags) {
  Config config;
  if (flags.config_file) {
    WEIR_ASSIGN(const std::string text,
                ReadWholeFile(*MakeRealFileSystem(), *flags.config_file, kConfigFileBytesMax));
    WEIR_TRY(ReadConfigText(text, *flags.config_file, config));
  }
  if (flags.data_dir) config.node.data_dir = *flags.data_dir;
  if (flags.listen_fluss) {
    WEIR_ASSIGN(const HostPort listen, ParseHostPort(*flags.listen_fluss));
    config.fluss.plain.host = listen.host;
    config.fluss.plain.port = listen.port;
  }
  if (flags.log_level) {
    WEIR_ASSIGN(config.log_level, ParseLogLevel(*flags.log_level));
  }
  WEIR_TRY(CheckConfig(config));
  return config;
}

Status RunServe(const ServeFlags& flags) {
  WEIR_ASSIGN(Config config, ToConfig(flags));
  return Serve(std::move(config));
}

int Run(int argc, char** argv) {
  CLI::App app{"Weir, a streaming table store", "weir"};
  app.set_version_flag("--version", std::string("weir ") + std::string(Version()));
  app.require_subcommand(1);
  ServeFlags flags;
  AddServe(app, flags);
  load::BenchOptions bench_options;
  const CLI::App* const bench = load::AddBenchCommand(app, bench_options);
  CLI11_PARSE(app, argc, argv);
  const Status status = bench->parsed() ? load::RunBench(bench_options) : RunServe(flags);
  if (status.ok()) return 0;
  fmt::print(stderr, "weir: {}\n", status.error().message);
  return 1;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  return weir::Run(argc, argv);
}
