#include "weir/app/serve.h"

#include <malloc.h>
#include <sys/resource.h>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <thread>

#include "weir/gateway/fluss/gateway.h"
#include "weir/runtime/real_world.h"

namespace weir {
namespace {

/// Connections and files take one each; the usual soft limit of 1,024 is soon reached.
void RaiseFileLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0)
    LogWarn("app", "cannot raise the limit of open files");
}

/// Frames of some megabytes come and go all the time. Left alone, malloc gives their memory back to
/// the kernel after each, which then clears every page anew: a third of the work of an append of
/// large batches. What is kept is bounded.
void KeepFreedMemory() {
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
  ::mallopt(M_TOP_PAD, 1 << 20);
}

size_t ShardCount(const Config& config) {
  if (config.shards > 0) return config.shards;
  return std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kShardsMax);
}

struct World {
  explicit World(const Config& config)
      : loops(ShardCount(config)), pool(MakeRealBlockingPool(config.blocking_threads)) {}

  RealLoops loops;
  std::unique_ptr<BlockingPool> pool;
  std::unique_ptr<FileSystem> files = MakeRealFileSystem();
  std::unique_ptr<Clock> clock = MakeRealClock();
  std::unique_ptr<Random> random = MakeRealRandom();
  std::unique_ptr<Network> network = MakeRealNetwork();
};

std::string Address(const std::string& host, uint16_t port) {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

void SayReady(const Config& config, const fluss::FlussGateway& gateway, Duration took) {
  std::vector<std::string> addresses;
  if (const auto port = gateway.plain_port())
    addresses.push_back(Address(config.fluss.plain.host, *port));
  if (const auto port = gateway.sasl_port())
    addresses.push_back(Address(config.fluss.sasl.host, *port) + " (with SASL)");
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
  fmt::print("weir {} ready in {} ms: Fluss clients connect to {}, data in {}\n", Version(),
             milliseconds, fmt::join(addresses, " or "), config.node.data_dir);
  std::fflush(stdout);
}

/// On the first loop.
Task<void> Run(World* world, const Config* config, Status* outcome) {
  EventLoop& loop = world->loops[0];
  const Duration begin = loop.Elapsed();
  std::vector<EventLoop*> loops;
  for (size_t i = 0; i < world->loops.size(); ++i) loops.push_back(&world->loops[i]);
  NodeWorld node_world{loops, *world->pool, *world->files, *world->clock, *world->random};
  Result<std::unique_ptr<Node>> node = co_await Node::Open(config->node, std::move(node_world));
  if (!node.ok()) {
    *outcome = std::move(node).error();
    co_return;
  }
  fluss::FlussGateway gateway(**node, *world->network, *world->clock, loops, config->fluss);
  *outcome = gateway.Start();
  if (outcome->ok()) {
    // Before the line that says ready: who reads it may stop the server at once.
    StopSignal stop(loop);
    SayReady(*config, gateway, loop.Elapsed() - begin);
    co_await stop.Wait();
    LogInfo("app", "stopping");
  }
  co_await gateway.Stop();
  co_await (*node)->Stop();
}

}  // namespace

std::string_view Version() {
  return WEIR_VERSION;
}

Status Serve(Config config) {
  SetLogLevel(config.log_level);
  RaiseFileLimit();
  KeepFreedMemory();
  // A pipe that nobody reads any more is an error like another.
  std::signal(SIGPIPE, SIG_IGN);
  World world(config);
  Status outcome;
  RunBlocking(world.loops[0], Run(&world, &config, &outcome));
  return outcome;
}

}  // namespace weir
