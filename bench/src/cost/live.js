// Computes the cost table anew when an input changes; the formulas are those of cost/model.rs.
(() => {
  const form = document.getElementById("cost-inputs");
  const table = document.getElementById("cost-table");
  const number = (root, name) => Number(root.querySelector(`[name="${name}"]`).value);
  const bill = (row) => {
    const inMemory = JSON.parse(row.dataset.traits).values_in_memory;
    const kind = inMemory ? "memory" : "device";
    const of = (name) => number(form, name);
    const data = of("data_tb") * 1e12;
    const keys = data / (of("key_bytes") + of("value_bytes"));
    const onDevice = inMemory ? 0 : data * number(row, "space_amplification");
    const value = inMemory ? of("value_bytes") : 0;
    const memory = keys * (number(row, "memory_bytes_per_key") + value);
    const cores = of("peak_rate_per_s") *
      (of("read_share") / number(row, "reads_per_core_s") +
        (1 - of("read_share")) / number(row, "writes_per_core_s"));
    const byDevice = onDevice > 0
      ? Math.ceil(onDevice / (of("device_device_tb") * 1e12 * of("device_fill_max"))) : 0;
    const byMemory =
      Math.ceil(memory / (of(`${kind}_memory_gb`) * 1e9 * of("memory_fill_max")));
    const byRate = Math.ceil(cores / (of(`${kind}_cores`) * of("rate_share_max")));
    const primaries = Math.max(byDevice, byMemory, byRate, 1);
    const nodes = primaries * of("copies");
    return [byDevice, byMemory, byRate, primaries, nodes, nodes * of(`${kind}_price`)];
  };
  const show = (figure) => Number.isFinite(figure) ? Math.round(figure).toLocaleString("en") : "–";
  const compute = () => {
    for (const row of table.tBodies[0].rows) {
      const cells = Array.from(row.cells).slice(-6);
      bill(row).forEach((figure, index) => {
        const cell = cells[index];
        (cell.querySelector("b") || cell).textContent = show(figure);
      });
    }
  };
  form.addEventListener("input", compute);
  form.addEventListener("submit", (event) => event.preventDefault());
  table.addEventListener("input", compute);
})();
