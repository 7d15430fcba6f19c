import { localTime, relativeTime } from '../format/times.ts';

export function Time({ at, empty = '–' }: { at: unknown; empty?: string }) {
  if (typeof at !== 'string' || at === '') return <span class="muted">{empty}</span>;
  return (
    <time dateTime={at} title={`${localTime(at)} (${at})`}>
      {relativeTime(at)}
    </time>
  );
}
