import { localTime, relativeTime } from '../../format/times.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const SOON: readonly (readonly [name: string, ms: number])[] = [
  ['in an hour', DAY_MS / 24],
  ['tomorrow', DAY_MS],
  ['in a week', 7 * DAY_MS],
  ['in a month', 30 * DAY_MS],
];

interface TimeInputProps {
  readonly id: string;
  /** In RFC 3339 format, or empty. */
  readonly value: string;
  readonly isRequired?: boolean;
  readonly describedBy: string;
  readonly onChange: (value: string) => void;
}

/** A time with the picker of the browser, usual choices, and how far away it is. */
export function TimeInput({ id, value, isRequired = false, describedBy, onChange }: TimeInputProps) {
  const chosen = Date.parse(value);
  return (
    <>
      <span class="input-line">
        <input
          id={id}
          type="datetime-local"
          step={60}
          required={isRequired}
          aria-describedby={describedBy}
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
      {!Number.isNaN(chosen) && (
        <span class={chosen < Date.now() ? 'problem' : 'hint'}>
          {relativeTime(value, thisMinute())}: {localTime(value)} in your time zone
        </span>
      )}
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
