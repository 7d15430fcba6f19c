import type { AlertKind } from './alert-kind.ts';
import type { Check, Subject } from './subject.ts';
import { agents } from './subjects/agents.ts';
import { raisedAlerts } from './subjects/alerts.ts';
import { authorities } from './subjects/authorities.ts';
import { backends } from './subjects/backends.ts';
import { certificates } from './subjects/certificates.ts';
import { destinations } from './subjects/destinations.ts';
import { identity } from './subjects/identity.ts';
import { lists } from './subjects/lists.ts';
import { machines } from './subjects/machines.ts';
import { managedCertificates } from './subjects/managed-certificates.ts';
import { watchedStates } from './subjects/modules.ts';
import { nodes } from './subjects/nodes.ts';
import { routes } from './subjects/routes.ts';
import { settings } from './subjects/settings.ts';
import { store } from './subjects/store.ts';

/** What something can be wrong with, in the order in which reports show findings of one level. */
const subjects: readonly Subject[] = [
  store,
  raisedAlerts({ isChecked, adviceOf: alertAdvice }),
  settings,
  nodes,
  machines,
  certificates,
  managedCertificates,
  authorities,
  routes,
  watchedStates,
  backends,
  lists,
  destinations,
  agents,
  identity,
];

export const checks: readonly Check[] = subjects.flatMap((subject) => subject.checks ?? []);

export const alertKinds: readonly AlertKind[] = subjects.flatMap((subject) => subject.alerts ?? []);

function isChecked(code: string): boolean {
  return checks.some(({ kinds }) => Object.hasOwn(kinds, code));
}

/** For a kind of another version. */
const GENERAL_ADVICE = 'see the log of the server';

/** What to do about alerts of a kind. */
export function alertAdvice(code: string): string {
  return alertKinds.find((kind) => kind.code === code)?.advice ?? GENERAL_ADVICE;
}
