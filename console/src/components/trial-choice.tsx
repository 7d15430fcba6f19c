import { useId } from 'preact/hooks';
import { areAllowed } from '../api/scopes.ts';

const TIMES = [
  ['1m', '1 minute'],
  ['5m', '5 minutes'],
  ['15m', '15 minutes'],
  ['1h', '1 hour'],
] as const;

interface TrialChoiceProps {
  /** Such as "5m"; null: the change stays. */
  readonly value: string | null;
  readonly onChange: (value: string | null) => void;
}

/** For a change that may lock its author out. Who cannot confirm it is not offered it. */
export function TrialChoice({ value, onChange }: TrialChoiceProps) {
  const id = useId();
  if (!areAllowed(['changes:read', 'changes:write'])) return null;
  return (
    <details open={value !== null}>
      <summary>More</summary>
      <div class="field">
        <label for={id}>Keep the change</label>
        <select
          id={id}
          value={value ?? ''}
          onChange={(event) => onChange(event.currentTarget.value === '' ? null : event.currentTarget.value)}
        >
          <option value="">Yes, without a confirmation</option>
          {TIMES.map(([time, text]) => (
            <option key={time} value={time}>
              Only if I confirm it within {text}
            </option>
          ))}
        </select>
        <span class="hint">
          {value === null
            ? 'A change that may lock you out can take itself back.'
            : 'It is served at once. Without a confirmation the server reverts it, also if you cannot reach this page.'}
        </span>
      </div>
    </details>
  );
}
