import { useLayoutEffect, useRef } from 'preact/hooks';

/** The input of an entry that was just added gets the focus: what somebody types next belongs there. */
export function useNewEntry() {
  const list = useRef<HTMLUListElement>(null);
  const isAdded = useRef(false);
  useLayoutEffect(() => {
    if (!isAdded.current) return;
    isAdded.current = false;
    list.current?.lastElementChild?.querySelector<HTMLElement>('input, select, textarea')?.focus();
  });
  const onAdded = (): void => {
    isAdded.current = true;
  };
  return [list, onAdded] as const;
}
