/** Call back once what was just drawn is on the screen, or never where the page is not shown. */
export function afterPaint(then: () => void): void {
  // A frame's callbacks run before it is painted, and a task that they make runs after.
  requestAnimationFrame(() => setTimeout(then, 0));
}
