import { milliseconds } from '../format/amounts.ts';
import type { Decision } from '../pages/traffic/request-record.ts';
import { Chip } from './chip.tsx';

/** What each module decided about a request, in the order of processing. */
export function Decisions({ decisions }: { decisions: readonly Decision[] }) {
  if (decisions.length === 0) return <p class="muted">No module decided about this request.</p>;
  return (
    <ol class="stack-small decisions">
      {decisions.map(({ module, decision, reason, text, rule, ms }, index) => (
        <li key={index} class="decision">
          <strong>{module}</strong>
          <Chip
            tone={
              decision === 'pass' ? 'ok' : decision === 'refuse' ? 'danger' : decision === 'answer' ? 'accent' : 'plain'
            }
          >
            {decision}
          </Chip>
          <span class="wrap-anywhere" dir="auto" title={reason}>
            {text ?? reason.replaceAll('_', ' ')}
            {rule ? ` (${rule})` : ''}
          </span>
          {ms !== undefined && <span class="muted push">{milliseconds(ms)}</span>}
        </li>
      ))}
    </ol>
  );
}
