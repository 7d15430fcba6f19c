import { signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';

const STORED_AS = 'postern-console-theme';

export const theme = signal<Theme>(storedTheme());

/** Charts are drawn in colors of the theme: they draw again when the system's one changes. */
export const isSystemDark = signal(matchMedia('(prefers-color-scheme: dark)').matches);

export function setTheme(next: Theme): void {
  theme.value = next;
  if (next === 'system') localStorage.removeItem(STORED_AS);
  else localStorage.setItem(STORED_AS, next);
  applyTheme();
}

export function applyTheme(): void {
  const { dataset } = document.documentElement;
  if (theme.value === 'system') delete dataset['theme'];
  else dataset['theme'] = theme.value;
}

export function followSystemTheme(): void {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', ({ matches }) => {
    isSystemDark.value = matches;
  });
}

function storedTheme(): Theme {
  const stored = localStorage.getItem(STORED_AS);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}
