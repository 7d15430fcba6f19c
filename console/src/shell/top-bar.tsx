import type { Signal } from '@preact/signals';
import { logOut } from '../api/session.ts';
import { session } from '../api/session-token.ts';
import { Icon } from '../components/icon.tsx';
import { submitted } from '../format/text.ts';
import { href, navigate, path, query } from '../router/location.ts';
import { setTheme, type Theme, theme } from './theme.ts';

const NEXT_THEME: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' };
const THEME_ICON = { system: 'device', light: 'sun', dark: 'moon' } as const;

export function TopBar({ isMenuOpen }: { isMenuOpen: Signal<boolean> }) {
  const who = session.value?.who;
  return (
    <header class="top-bar">
      <button
        type="button"
        class="menu-button plain icon-only"
        aria-label="Navigation"
        aria-expanded={isMenuOpen.value}
        aria-controls="navigation"
        onClick={() => {
          isMenuOpen.value = !isMenuOpen.value;
        }}
      >
        <Icon name="menu" size={20} />
      </button>
      <a class="brand" href={href('/')} aria-label="Postern: overview">
        <Icon name="gate" size={20} />
        <span class="brand-name">Postern</span>
      </a>
      <SearchBox />
      <button
        type="button"
        class="plain icon-only push"
        title={`Theme: ${theme.value}`}
        aria-label={`Theme: ${theme.value}. Change to ${NEXT_THEME[theme.value]}`}
        onClick={() => setTheme(NEXT_THEME[theme.value])}
      >
        <Icon name={THEME_ICON[theme.value]} size={18} />
      </button>
      <span class="who one-line" title={who?.name}>
        {who?.name}
        {session.value?.role !== undefined && ` (${session.value.role})`}
      </span>
      <button type="button" class="small" onClick={() => void logOut().catch(() => {})}>
        Log out
      </button>
    </header>
  );
}

function SearchBox() {
  const term = path.value === '/search' ? (query.value.get('q') ?? '') : '';
  return (
    // biome-ignore lint/a11y/useSemanticElements: a form submits with Enter, the search element does not
    <form
      class="top-search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        const text = submitted(event.currentTarget, 'q');
        if (text !== '') navigate(`/search?q=${encodeURIComponent(text)}`);
      }}
    >
      <Icon name="search" />
      <input
        key={term}
        name="q"
        type="search"
        aria-label="Search hosts, paths, descriptions, ids and request ids"
        placeholder="Search"
        maxLength={200}
        defaultValue={term}
      />
    </form>
  );
}
