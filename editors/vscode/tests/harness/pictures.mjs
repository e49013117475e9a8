// Pictures of the window and of the view: narrow in the light theme, or, with PICTURES=1, also wide
// and in the dark one.

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

/** A picture of the window; with PICTURES=1 also one in the dark theme. */
export async function picture(window, name) {
  await window.picture(name);
  if (process.env.PICTURES !== "1") return;
  await window.configure("workbench.colorTheme", "Default Dark Modern");
  await window.page.locator(".monaco-workbench.vs-dark").waitFor();
  await window.picture(`${name}-dark`);
  await window.configure("workbench.colorTheme", undefined);
  await window.page.locator(".monaco-workbench.vs").waitFor();
}

/** Pictures of what the view shows now. */
export async function pictures(window, name) {
  const all = process.env.PICTURES === "1";
  await (await window.chat()).locator("#cards:not([aria-disabled])").waitFor({ state: "attached" });
  for (const [theme, look] of [[undefined, "light"], ["Default Dark Modern", "dark"]].slice(0, all ? 2 : 1)) {
    if (all) await window.configure("workbench.colorTheme", theme);
    await window.page.locator(`.monaco-workbench.vs${look === "dark" ? "-dark" : ""}`).waitFor();
    await (await window.chat()).locator(`body.vscode-${look}`).waitFor();
    for (const wide of all ? [600, 340] : [340]) {
      await width(window, wide);
      await window.page.screenshot({
        animations: "disabled", path: `${window.world.pictures}/chat-${name}-${look}-${wide}.png`,
        clip: { x: 0, y: 0, width: wide + 60, height: 860 },
      });
    }
  }
  if (all) await window.configure("workbench.colorTheme", undefined);
}
