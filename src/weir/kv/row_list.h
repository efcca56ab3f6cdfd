// A list of row versions that is threaded through them. It has no share in them.
#pragma once

#include "weir/kv/hot_row.h"

namespace weir {

class RowList {
 public:
  explicit RowList(HotRow::Place place) : place_(place) {}
  RowList(const RowList&) = delete;
  RowList& operator=(const RowList&) = delete;

  bool empty() const { return front_ == nullptr; }
  size_t size() const { return size_; }
  HotRow* front() const { return front_; }
  HotRow* back() const { return back_; }

  void PushBack(HotRow* row) {
    row->place = place_;
    row->previous = back_;
    row->next = nullptr;
    (back_ != nullptr ? back_->next : front_) = row;
    back_ = row;
    ++size_;
  }

  void PushFront(HotRow* row) {
    row->place = place_;
    row->previous = nullptr;
    row->next = front_;
    (front_ != nullptr ? front_->previous : back_) = row;
    front_ = row;
    ++size_;
  }

  void Remove(HotRow* row) {
    WEIR_CHECK(row->place == place_);
    (row->previous != nullptr ? row->previous->next : front_) = row->next;
    (row->next != nullptr ? row->next->previous : back_) = row->previous;
    row->place = HotRow::Place::kNone;
    --size_;
  }

 private:
  const HotRow::Place place_;
  HotRow* front_ = nullptr;
  HotRow* back_ = nullptr;
  size_t size_ = 0;
};

}  // namespace weir
