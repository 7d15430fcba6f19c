import { useEffect, useRef } from 'preact/hooks';
import { localTime, relativeTime } from '../../format/times.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const SOON: readonly (readonly [name: string, ms: number])[] = [
  ['in an hour', DAY_MS / 24],
  ['tomorrow', DAY_MS],
  ['in 7 days', 7 * DAY_MS],
  ['in 30 days', 30 * DAY_MS],
];

interface TimeInputProps {
  readonly id: string;
  /** In RFC 3339 format, or empty. */
  readonly value: string;
  readonly isRequired?: boolean;
  readonly describedBy: string;
  /** Null: it is fine. The form is not sent with a problem. */
  readonly problem?: string | null;
  readonly onChange: (value: string) => void;
}

/** A time with the picker of the browser, usual choices, and how far away it is. */
export function TimeInput({ id, value, isRequired = false, describedBy, problem = null, onChange }: TimeInputProps) {
  const chosen = Date.parse(value);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.setCustomValidity(problem ?? ''), [problem]);
  return (
    <>
      <span class="input-line">
        <input
          ref={input}
          id={id}
          type="datetime-local"
          step={60}
          required={isRequired}
          aria-describedby={`${describedBy} ${id}-words`}
          aria-invalid={problem !== null}
          value={Number.isNaN(chosen) ? '' : localTime(value).replace(' ', 'T').slice(0, 16)}
          onInput={(event) => onChange(inUtc(event.currentTarget.value))}
        />
        <select
          aria-label="Usual times"
          value=""
          onChange={(event) => {
            const ms = Number(event.currentTarget.value);
            event.currentTarget.value = '';
            onChange(new Date(Date.now() + ms).toISOString());
          }}
        >
          <option value="">or …</option>
          {SOON.map(([name, ms]) => (
            <option key={name} value={ms}>
              {name}
            </option>
          ))}
        </select>
      </span>
      <span id={`${id}-words`} class={problem === null ? 'hint' : 'problem'} aria-live="polite">
        {!Number.isNaN(chosen) && `${relativeTime(value, thisMinute())}: ${localTime(value)} in your time zone. `}
        {problem}
      </span>
    </>
  );
}

/** A day from now is tomorrow, not in 23 hours and some seconds. */
function thisMinute(): number {
  return Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
}

function inUtc(local: string): string {
  const at = new Date(local);
  return Number.isNaN(at.getTime()) ? '' : at.toISOString();
}
