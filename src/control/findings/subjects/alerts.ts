import type { Finding } from '../../../kit/findings.ts';
import type { CheckedAlert } from '../facts.ts';
import type { Check, Subject } from '../subject.ts';

interface KnownKinds {
  /** Whether a check looks for findings of this kind: it names their objects, so it reports them. */
  readonly isChecked: (code: string) => boolean;
  readonly adviceOf: (code: string) => string;
}

/** Alerts that are raised: what stays wrong while the server watches. */
export function raisedAlerts({ isChecked, adviceOf }: KnownKinds): Subject {
  const findingOf = ({ id, kind, title }: CheckedAlert): Finding => ({
    ...{ level: 'problem', check: 'alerts', code: kind, message: title, advice: adviceOf(kind) },
    about: { id },
  });
  const check: Check = {
    name: 'alerts',
    nouns: ['alerts'],
    // Alerts of another version may have any kind.
    kinds: {},
    run: ({ alerts: raised }) => raised.filter(({ kind }) => !isChecked(kind)).map(findingOf),
  };
  return { checks: [check] };
}
