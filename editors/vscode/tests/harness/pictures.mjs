// Pictures of the view in both themes, narrow and wide.

/** Changes the width of the side bar by its edge, as a person does. */
async function width(window, wanted) {
  const bar = window.page.locator(".part.sidebar");
  const { x, width, y, height } = await bar.boundingBox();
  await window.page.mouse.move(x + width, y + height / 2);
  await window.page.mouse.down();
  await window.page.mouse.move(x + wanted, y + height / 2, { steps: 4 });
  await window.page.mouse.up();
  // The edge is marked while the pointer is on it.
  await window.page.mouse.move(x + wanted + 200, y + height / 2);
}

/** Pictures of the view in both themes, narrow and wide. */
export async function pictures(window, name) {
  for (const [theme, look] of [[undefined, "light"], ["Default Dark Modern", "dark"]]) {
    await window.configure("workbench.colorTheme", theme);
    await window.page.locator(`.monaco-workbench.vs${look === "dark" ? "-dark" : ""}`).waitFor();
    for (const wide of [600, 340]) {
      await width(window, wide);
      await window.page.screenshot({
        animations: "disabled", path: `${window.world.pictures}/chat-${name}-${look}-${wide}.png`,
        clip: { x: 0, y: 0, width: wide + 60, height: 860 },
      });
    }
  }
  await window.configure("workbench.colorTheme", undefined);
}
