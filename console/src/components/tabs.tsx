import { useEffect, useRef } from 'preact/hooks';
import { query, setQuery } from '../router/location.ts';

/** Each tab has a list of its own. */
const CLEARED = { q: '', order: '' };

/** The chosen tab is in the address: links and the back button keep it. */
export function useTab(tabs: readonly string[], first = ''): string {
  const chosen = query.value.get('tab') ?? first;
  return tabs.includes(chosen) ? chosen : (tabs[0] ?? '');
}

interface TabsProps {
  readonly tabs: readonly (readonly [id: string, name: string])[];
  readonly label: string;
  readonly first?: string | undefined;
}

export function Tabs({ tabs, label, first }: TabsProps) {
  const chosen = useTab(
    tabs.map(([id]) => id),
    first,
  );
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [chosen]);
  const move = (event: KeyboardEvent, index: number): void => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    const next = tabs[(index + step + tabs.length) % tabs.length];
    if (step === 0 || next === undefined) return;
    setQuery({ ...CLEARED, tab: next[0] });
    list.current?.querySelectorAll('button')[(index + step + tabs.length) % tabs.length]?.focus();
  };
  return (
    <div ref={list} class="tabs" role="tablist" aria-label={label}>
      {tabs.map(([id, name], index) => (
        <button
          key={id}
          type="button"
          role="tab"
          aria-selected={id === chosen}
          tabIndex={id === chosen ? 0 : -1}
          onClick={() => setQuery({ ...CLEARED, tab: id })}
          onKeyDown={(event) => move(event, index)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
