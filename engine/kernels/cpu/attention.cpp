// Paged attention of all rows of a pass: rotate and store, attend by (tile of queries, partition of keys), join, quantise.
//
// Keys are cut into partitions by their position alone and joined in order, so a row's result depends on its own
// length and on nothing else in the pass (the idea of "flash decoding", with a fixed split size for invariance).
#include <vector>

#include "attention.h"
#include "quantize.h"

using namespace warmline;

namespace {

struct Task {
    int slice;
    int kv_head;
    int first_query;
    int partition;
};

// Query number q of a slice and a kv head is row q % rows with the group's head q / rows.
std::vector<Task> list_tasks(const Slice* slices, int num_slices, const Shape& shape) {
    std::vector<Task> tasks;
    for (int s = 0; s < num_slices; ++s) {
        const int queries = slices[s].rows * shape.group();
        const int parts = partitions(slices[s].position + slices[s].rows);
        for (int part = 0; part < parts; ++part)
            for (int kv_head = 0; kv_head < shape.kv_heads; ++kv_head)
                for (int first = 0; first < queries; first += TILE) tasks.push_back({s, kv_head, first, part});
    }
    return tasks;
}

// partials is [row][head][parts], each shape.partial() floats.
struct Workspace {
    Bf16* queries;
    float* partials;
    int parts;
    const Shape& shape;

    Bf16* query(int row, int head) const { return queries + (static_cast<size_t>(row) * shape.heads + head) * shape.head_dim; }
    float* partial(int row, int head, int part) const {
        return partials + ((static_cast<size_t>(row) * shape.heads + head) * parts + part) * shape.partial();
    }
};

void run_task(const Task& task, const Slice& slice, const int32_t* table, const Bf16* cache, const Workspace& work) {
    const int start = task.partition * PARTITION;
    const Bf16* queries[TILE];
    float* partials[TILE];
    int visible[TILE];
    int count = 0;
    const int end = slice.rows * work.shape.group();
    for (int q = task.first_query; q < end && q < task.first_query + TILE; ++q) {
        const int row = q % slice.rows;
        const int length = slice.position + row + 1 - start;
        if (length <= 0) continue;
        const int head = task.kv_head * work.shape.group() + q / slice.rows;
        queries[count] = work.query(slice.first_row + row, head);
        partials[count] = work.partial(slice.first_row + row, head, task.partition);
        visible[count++] = length < PARTITION ? length : PARTITION;
    }
    if (count > 0)
        attend_partition(count, queries, visible, cache, work.shape, task.kv_head, table + start / BLOCK, partials);
}

// Joins the partial results of one head over length keys.
void join(const Workspace& work, int row, int head, int length, float* out) {
    const int parts = partitions(length);
    float top = work.partial(row, head, 0)[0];
    for (int part = 1; part < parts; ++part) {
        const float other = work.partial(row, head, part)[0];
        top = other > top ? other : top;
    }
    Floats weight = splat(0.0f);
    for (int i = 0; i < work.shape.head_dim; i += LANES) store(out + i, splat(0.0f));
    for (int part = 0; part < parts; ++part) {
        const float* partial = work.partial(row, head, part);
        const Floats factor = exp(splat(partial[0] - top));
        weight = fma(splat(partial[1]), factor, weight);
        for (int i = 0; i < work.shape.head_dim; i += LANES)
            store(out + i, fma(load(partial + PARTIAL_HEADER + i), factor, load(out + i)));
    }
    for (int i = 0; i < work.shape.head_dim; i += LANES) store(out + i, load(out + i) / weight);
}

}  // namespace

// Floats of workspace that a pass of rows with at most longest keys needs.
extern "C" size_t warmline_attention_workspace(int rows, int heads, int head_dim, int longest) {
    const Shape shape{heads, heads, head_dim};
    const size_t per_head = partitions(longest) * shape.partial() + head_dim;
    return static_cast<size_t>(rows) * heads * per_head;
}

// qkv is [rows, (heads + 2 * kv_heads) * head_dim], to be multiplied by qkv_scale[row]; it is overwritten.
// tables holds each slice's block table from slice.table_start on; cache is this layer's share.
// head_dim is a multiple of 16, at most MAX_HEAD_DIM.
extern "C" void warmline_attention(float* qkv, const float* qkv_scale, const float* cosines, const float* sines,
                                   const Slice* slices, int num_slices, const int32_t* tables, int heads, int kv_heads,
                                   int head_dim, int longest, int levels, uint16_t* cache, float* workspace, uint8_t* out,
                                   float* out_scale) {
    const Shape shape{heads, kv_heads, head_dim};
    const int half = head_dim / 2, width = heads * head_dim;
    const int rows = slices[num_slices - 1].first_row + slices[num_slices - 1].rows;
    std::vector<int> slice_of(rows);
    for (int s = 0; s < num_slices; ++s)
        for (int i = 0; i < slices[s].rows; ++i) slice_of[slices[s].first_row + i] = s;
    const std::vector<Task> tasks = list_tasks(slices, num_slices, shape);
    const int num_tasks = static_cast<int>(tasks.size());
    // The queries, in bf16, lie behind the partial results.
    const size_t partials = static_cast<size_t>(rows) * heads * partitions(longest) * shape.partial();
    const Workspace work{reinterpret_cast<Bf16*>(workspace + partials), workspace, partitions(longest), shape};
#pragma omp parallel if (num_tasks > 1)
    {
#pragma omp for schedule(static)
        for (int row = 0; row < rows; ++row) {
            const Slice& slice = slices[slice_of[row]];
            const int within = row - slice.first_row, position = slice.position + within;
            rotate_and_store(qkv + static_cast<size_t>(row) * shape.qkv_width(), qkv_scale[row],
                             cosines + static_cast<size_t>(position) * half, sines + static_cast<size_t>(position) * half,
                             shape, tables[slice.table_start + position / BLOCK], position % BLOCK, within + 1 == slice.rows,
                             work.query(row, 0), cache);
        }
#pragma omp for schedule(dynamic, 1)
        for (int t = 0; t < num_tasks; ++t) {
            const Slice& slice = slices[tasks[t].slice];
            run_task(tasks[t], slice, tables + slice.table_start, cache, work);
        }
#pragma omp for schedule(static)
        for (int row = 0; row < rows; ++row) {
            const Slice& slice = slices[slice_of[row]];
            // The row's own queries, keys and values have been read: its attended heads go there.
            float* attended = qkv + static_cast<size_t>(row) * shape.qkv_width();
            const int length = slice.position + row - slice.first_row + 1;
            for (int head = 0; head < heads; ++head) join(work, row, head, length, attended + head * head_dim);
            quantize_row(attended, width, levels, out + static_cast<size_t>(row) * width, out_scale + row);
        }
    }
}
