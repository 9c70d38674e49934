// Attest: a key/value cache and incremental attention whose cached rows have the bits of the full prefix.
#pragma once

#include <attest/adamw.hpp>        // AdamW: steps parameters, all or nothing
#include <attest/attention.hpp>    // MultiHeadAttention: forward, forward_incremental, prefill, prepare
#include <attest/cache.hpp>        // LayerKvCache: the bound, transactional cache
#include <attest/error.hpp>        // Error, Result: every refusal, one struct each
#include <attest/executor.hpp>     // Executor, ThreadPool: who does the work of a call
#include <attest/incremental.hpp>  // Ticket, StepEvidence
#include <attest/memory.hpp>       // Memory: where every byte comes from
#include <attest/parameter.hpp>    // Parameter: a weight with identity and revision
#include <attest/random.hpp>       // SplitMix64, Xavier uniform
#include <attest/rotary.hpp>       // Rotary: RoPE tables
#include <attest/shape.hpp>        // Shape: up to four axis lengths
#include <attest/storage.hpp>      // KvStorage: keys and values as computed, in bf16 or in f16
#include <attest/tensor.hpp>       // Tensor, TensorView: owned elements, strided views
#include <attest/work.hpp>         // Work, history_contrast
