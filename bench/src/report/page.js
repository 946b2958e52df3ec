// Unfolds everything for print, and folds it again.
(() => {
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = Array.from(document.querySelectorAll("details:not([open])"));
    folded.forEach((details) => { details.open = true; });
  });
  addEventListener("afterprint", () => folded.forEach((details) => { details.open = false; }));
})();
