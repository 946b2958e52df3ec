//! INFO memory, and the figures that MEMORY tells.
//!
//! Owns the sum that `used_memory` is: index, caches, write buffers and clients, which is what
//! `maxmemory` bounds.

use super::lines::Lines;
use super::process;
use crate::command::Cx;
use crate::config::Setting;
use crate::ratio::ratio;
use crate::shared::Shared;

/// What DRAM is used for, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemoryFigures {
    /// Keys in all databases.
    pub keys: u64,
    /// The index.
    pub index_bytes: u64,
    /// The part of the index on huge pages.
    pub index_huge_page_bytes: u64,
    /// The cache of values.
    pub cache_bytes: u64,
    /// Write buffers of the log.
    pub write_buffer_bytes: u64,
    /// The store's tables: segments, locks, databases.
    pub table_bytes: u64,
    /// Buffers of clients.
    pub client_bytes: u64,
    /// The most that was ever used.
    pub peak_bytes: u64,
    /// What was used before the first key.
    pub startup_bytes: u64,
    /// What the kernel counts as resident.
    pub resident_bytes: u64,
    /// `maxmemory`, 0 for no bound.
    pub bytes_max: u64,
}

impl MemoryFigures {
    /// The figures now.
    pub fn take(shared: &Shared) -> Self {
        let stats = shared.store_stats();
        let client_bytes = shared
            .clients
            .list()
            .iter()
            .map(|client| client.memory_bytes())
            .sum();
        let mut figures = Self {
            keys: stats.keys,
            index_bytes: stats.index_bytes,
            index_huge_page_bytes: stats.index_huge_page_bytes,
            cache_bytes: stats.cache_bytes,
            write_buffer_bytes: stats.write_buffer_bytes,
            table_bytes: stats.table_bytes,
            client_bytes,
            peak_bytes: 0,
            startup_bytes: 0,
            resident_bytes: process::resident_bytes(),
            bytes_max: shared.config.read(|config| config.memory.maxmemory.get()),
        };
        figures.peak_bytes = shared.note_memory(figures.used_bytes());
        figures
    }

    /// What `maxmemory` bounds.
    pub fn used_bytes(&self) -> u64 {
        self.cache_bytes + self.overhead_bytes()
    }

    /// What is used for other things than values.
    pub fn overhead_bytes(&self) -> u64 {
        self.index_bytes + self.write_buffer_bytes + self.table_bytes + self.client_bytes
    }

    /// Values in DRAM.
    pub fn dataset_bytes(&self) -> u64 {
        self.cache_bytes
    }

    /// What an administrator may want to know of these figures.
    pub fn advice(&self) -> String {
        let mut advice = String::new();
        let used = self.used_bytes();
        if self.bytes_max > 0 && used > self.bytes_max / 10 * 9 {
            advice.push_str(
                "More than nine tenths of maxmemory are used: keys will soon be evicted, or writes \
                 refused, as maxmemory-policy says. Raise maxmemory, or remove keys.\n",
            );
        }
        if self.client_bytes > used / 2 && self.client_bytes > 64 << 20 {
            advice.push_str(
                "Clients' buffers are more than half of what is used: see CLIENT LIST, and \
                 client-output-buffer-limit.\n",
            );
        }
        if self.index_bytes > 64 << 20 && self.index_huge_page_bytes < self.index_bytes / 2 {
            advice.push_str(
                "Less than half of the index lies on huge pages, so that lookups are slower: see \
                 /sys/kernel/mm/transparent_hugepage/enabled.\n",
            );
        }
        if advice.is_empty() {
            advice.push_str("Nothing to complain about.\n");
        }
        advice
    }
}

pub(super) fn memory(cx: &Cx, lines: &mut Lines) {
    let figures = MemoryFigures::take(&cx.shared);
    let used = figures.used_bytes();
    lines.bytes("used_memory", used);
    lines.bytes("used_memory_rss", figures.resident_bytes);
    lines.bytes("used_memory_peak", figures.peak_bytes);
    lines.field("used_memory_peak_perc", percent(used, figures.peak_bytes));
    lines.field("used_memory_overhead", figures.overhead_bytes());
    lines.field("used_memory_startup", figures.startup_bytes);
    lines.field("used_memory_dataset", figures.dataset_bytes());
    lines.field(
        "used_memory_dataset_perc",
        percent(figures.dataset_bytes(), used),
    );
    lines.bytes("used_memory_index", figures.index_bytes);
    lines.field(
        "used_memory_index_huge_pages",
        figures.index_huge_page_bytes,
    );
    let a_key = ratio(figures.index_bytes, figures.keys);
    lines.field("used_memory_index_per_key", format_args!("{a_key:.2}"));
    lines.bytes("used_memory_cache", figures.cache_bytes);
    lines.field("used_memory_write_buffers", figures.write_buffer_bytes);
    lines.field("used_memory_tables", figures.table_bytes);
    lines.field("used_memory_clients", figures.client_bytes);
    lines.bytes("total_system_memory", process::machine_bytes());
    let scripts = &cx.shared.scripts;
    let (script_count, script_bytes) = scripts.sources.sizes();
    let (library_count, function_count) = scripts.functions.catalog().counts();
    lines.field("used_memory_lua", 0);
    lines.field("used_memory_vm_eval", 0);
    lines.field("used_memory_scripts", script_bytes);
    lines.field("number_of_cached_scripts", script_count);
    lines.field("number_of_functions", function_count);
    lines.field("number_of_libraries", library_count);
    lines.bytes("maxmemory", figures.bytes_max);
    let policy = cx
        .shared
        .config
        .read(|config| config.memory.maxmemory_policy.text());
    lines.field("maxmemory_policy", policy);
    let fragmentation = ratio(figures.resident_bytes, used);
    lines.field(
        "mem_fragmentation_ratio",
        format_args!("{fragmentation:.2}"),
    );
    let difference = figures.resident_bytes.cast_signed() - used.cast_signed();
    lines.field("mem_fragmentation_bytes", difference);
    lines.field("mem_not_counted_for_evict", 0);
    lines.field("mem_replication_backlog", 0);
    lines.field("mem_clients_slaves", 0);
    lines.field("mem_clients_normal", figures.client_bytes);
    lines.field("mem_aof_buffer", figures.write_buffer_bytes);
    lines.field("mem_allocator", "mimalloc");
    lines.field("active_defrag_running", 0);
    lines.field("lazyfree_pending_objects", 0);
    lines.field("lazyfreed_objects", 0);
}

fn percent(part: u64, whole: u64) -> String {
    let share = ratio(part, whole) * 100.0;
    format!("{share:.2}%")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::info::lines::human;

    #[test]
    fn advice_names_what_is_short() {
        let mut figures = MemoryFigures {
            bytes_max: 100 << 20,
            ..MemoryFigures::default()
        };
        assert_eq!(figures.advice(), "Nothing to complain about.\n");
        figures.client_bytes = 95 << 20;
        let advice = figures.advice();
        assert!(advice.contains("maxmemory") && advice.contains("Clients' buffers"));
        assert_eq!(human(figures.used_bytes()), "95.00M");
    }
}
