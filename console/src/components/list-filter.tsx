import { useEffect, useRef, useState } from 'preact/hooks';
import type { Pages } from '../api/use-pages.ts';
import { query, setQuery } from '../router/location.ts';

/** Long enough for a word to be typed. */
const WAIT_MS = 250;

/** What a list is searched for and ordered by. It is in the address, so that a link and the back button keep it. */
export interface ListQuery {
  readonly q: string;
  /** Field of the API, with "-" in front in descending order; empty: newest first. */
  readonly order: string;
}

export function useListQuery(): ListQuery {
  return { q: query.value.get('q') ?? '', order: query.value.get('order') ?? '' };
}

/** The server searches and orders the whole list, not only what is loaded. */
export function listPath(path: string, { q, order }: ListQuery): string {
  const parameters = new URLSearchParams({ ...(q !== '' && { q }), ...(order !== '' && { order_by: order }) });
  if (parameters.size === 0) return path;
  return `${path}${path.includes('?') ? '&' : '?'}${parameters.toString()}`;
}

interface ListFilterProps {
  readonly label: string;
  readonly pages: Pages;
  readonly placeholder?: string;
}

/** Searches while somebody types, and says how many results there are. */
export function ListFilter({ label, pages, placeholder = '' }: ListFilterProps) {
  const { q } = useListQuery();
  return (
    <div class="filters">
      <FilterField label={label} placeholder={placeholder} />
      <span class="hint count" role="status">
        {pages.isLoading ? '' : `${countText(pages)} ${q === '' ? 'in all' : 'found'}`}
      </span>
    </div>
  );
}

export function FilterField({ label, placeholder = '' }: { label: string; placeholder?: string }) {
  const { q } = useListQuery();
  const [text, setText] = useState(q);
  const sent = useRef(q);
  useEffect(() => {
    // Another tab of the page, or a button that clears it.
    if (q !== sent.current) setText(q);
    sent.current = q;
  }, [q]);
  useEffect(() => {
    const wanted = text.trim();
    if (wanted === sent.current) return undefined;
    const timer = setTimeout(() => {
      sent.current = wanted;
      setQuery({ q: wanted });
    }, WAIT_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div class="field grow">
      <label for="list-filter">{label}</label>
      <input
        id="list-filter"
        type="search"
        maxLength={200}
        spellcheck={false}
        placeholder={placeholder}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </div>
  );
}

function countText({ count, rows, hasMore }: Pages): string {
  if (count !== null) return count.toLocaleString('en');
  return hasMore ? `more than ${rows.length}` : rows.length.toLocaleString('en');
}

/** For a list without results: what was searched is the whole list. */
export function NothingFound({ what, children }: { what: string; children?: preact.ComponentChildren }) {
  const { q } = useListQuery();
  return (
    <div class="empty">
      <h2>{`No ${what} has “${q.slice(0, 60)}” in it`}</h2>
      {children}
      <button type="button" onClick={() => setQuery({ q: '' })}>
        Clear the filter
      </button>
    </div>
  );
}
