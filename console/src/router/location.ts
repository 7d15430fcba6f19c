import { computed, signal } from '@preact/signals';

const BASE = '/console';
/** The server answers it, and leads to the provider: it is no page of the console. */
export const LOGIN = `${BASE}/login`;

const address = signal(location.pathname + location.search);

/** Path below /console, always starting with "/" and without one at the end. */
export const path = computed(() => {
  const { pathname } = new URL(address.value, location.origin);
  const below = pathname.startsWith(BASE) ? pathname.slice(BASE.length) : pathname;
  return below.replace(/\/+$/, '') || '/';
});

export const query = computed(() => new URL(address.value, location.origin).searchParams);

export function href(below: string): string {
  return BASE + (below === '/' ? '/' : below);
}

export function navigate(below: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', href(below));
  else history.pushState(null, '', href(below));
  address.value = location.pathname + location.search;
  if (!replace) {
    scrollTo(0, 0);
    // Screen readers announce the new page by its heading.
    requestAnimationFrame(() => document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true }));
  }
}

export function setQuery(changes: Readonly<Record<string, string>>): void {
  const next = new URLSearchParams(query.value);
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') next.delete(name);
    else next.set(name, value);
  }
  const text = next.toString();
  navigate(path.value + (text === '' ? '' : `?${text}`), { replace: true });
}

/** Plain links work everywhere: those below /console are followed without loading the page again. */
export function followLinks(): void {
  addEventListener('popstate', () => {
    address.value = location.pathname + location.search;
  });
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element | null)?.closest?.('a') ?? null;
    if (link === null || link.target !== '' || link.hasAttribute('download') || link.origin !== location.origin) return;
    if (link.pathname !== BASE && !link.pathname.startsWith(`${BASE}/`)) return;
    if (link.pathname === LOGIN) return;
    if (link.hash !== '' && link.pathname === location.pathname) return;
    event.preventDefault();
    navigate(link.pathname.slice(BASE.length) + link.search || '/');
  });
}
