import { byId } from './dom.js';

const THEMES = ['system', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];
const NAME = 'warmline.theme';

/** Light, dark, or as the system has it; remembered by the browser. */
export function themes(): void {
  const button = byId('theme', 'button');
  let theme = stored();
  const show = (): void => {
    document.documentElement.dataset['theme'] = theme;
    button.textContent = `Theme: ${theme}`;
  };
  button.addEventListener('click', () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system';
    try {
      localStorage.setItem(NAME, theme);
    } catch {
      // it lasts as long as the page
    }
    show();
  });
  show();
}

function stored(): Theme {
  try {
    const name = localStorage.getItem(NAME);
    return THEMES.find((theme) => theme === name) ?? 'system';
  } catch {
    return 'system';
  }
}
