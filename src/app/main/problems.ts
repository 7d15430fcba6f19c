import { loginTroubles } from '../../control/documents/problems/login-troubles.ts';
import { Problems } from '../../control/documents/problems/problems.ts';
import type { KnownHere } from '../../control/documents/problems/read-facts.ts';
import type { RouteLogins } from '../../control/documents/route-logins.ts';
import { typesOf } from '../../control/events/event-recorder.ts';
import { ALERT_KIND, alertDoc } from '../../control/findings/alert-watch.ts';
import type {
  CheckedAlert,
  CheckedAuthority,
  CheckedList,
  CheckedManagedCertificate,
} from '../../control/findings/facts.ts';
import { accountOf, emailKey, USER_ACCOUNT_KIND } from '../../control/identity/people-records.ts';
import { apiKeys, readKey } from '../../control/resources/api_keys/api-keys.ts';
import { crlFields } from '../../control/resources/certificate_authorities/certificate-authorities.ts';
import { readCredential } from '../../control/resources/credentials/credentials.ts';
import { type ListPorts, shownState } from '../../control/resources/ip_policy_lists/ip-policy-lists.ts';
import {
  isWanted,
  renderManagedCertificate,
} from '../../control/resources/managed_certificates/managed-certificates.ts';
import type { SharedPorts } from '../../control/resources/ports.ts';
import { readOrNull } from '../../kit/read-or-null.ts';
import { GUEST_LINK_KIND, guestLinkOf } from '../../modules/access/guests/guests.ts';
import { readToken } from '../../modules/access/programs/account-tokens.ts';
import type { ModuleNetwork } from '../../modules/contract/keeps-state.ts';
import type { Module } from '../../modules/contract/module.ts';
import { issuerPorts } from '../../modules/login/issuer-problem.ts';
import { login } from '../../modules/login/login.ts';
import { discover, IssuerChecks } from '../../modules/login/provider/discovery.ts';
import { settingsOf } from '../../modules/module-settings.ts';
import { TOKEN_KIND } from '../../modules/service-account-records.ts';
import { CERTIFICATE_KIND, DOMAIN_KIND, readCertificate, readDomain } from '../../proxy/edge/tls/certificate-store.ts';
import type { KindOfId } from '../../proxy/snapshot/compile-backend.ts';
import { type ProblemIndex, unpreparedModules } from '../../proxy/snapshot/problems.ts';
import type { Store, StoredRecord } from '../../store/store.ts';
import { moduleNetwork } from './data-plane/module-runtimes.ts';
import { upstreamsOf } from './data-plane/route-upstreams.ts';

interface ProblemsDependencies
  extends Pick<
      KnownHere,
      'replica' | 'config' | 'clock' | 'ref' | 'nodes' | 'peers' | 'online' | 'isOwnApi' | 'whyForbidden'
    >,
    Pick<SharedPorts, 'hostCertificates'> {
  readonly problems: ProblemIndex;
  readonly modules: readonly Module[];
  readonly store: Pick<Store, 'logins' | 'health'>;
  readonly learningClient: RouteLogins;
  readonly addressLists: ListPorts['addressLists'];
  readonly isAddressAllowed: ModuleNetwork['isAddressAllowed'];
  readonly kindOfId: KindOfId;
}

/** The checks of the doctor, over what this process knows. */
export function openProblems(deps: ProblemsDependencies): Problems {
  const { replica, clock, problems, modules, store, learningClient } = deps;
  const settings = settingsOf(deps.config.moduleSettings, login);
  const { operator } = issuerPorts(settings, moduleNetwork(deps.isAddressAllowed), clock);
  const issuers = new IssuerChecks((issuer) => discover(issuer, operator), clock);
  const unreachable = (of: readonly string[]) => issuers.problems(of);
  return new Problems({
    ...deps,
    managedCertificate: (record) =>
      isWanted(record) ? (renderManagedCertificate(record, deps) as unknown as CheckedManagedCertificate) : null,
    crlFields: (record) => crlFields(record, replica, clock.nowMs()) as unknown as CheckedAuthority,
    listFields: (id) => shownState(deps.addressLists.state(id)) as unknown as CheckedList,
    alerts: () => [...replica.all(ALERT_KIND)].flatMap((record) => readOrNull(() => alertOf(record)) ?? []),
    loginTroubles: (slice) =>
      loginTroubles({ modules, replica, learningClient, logins: store.logins, unreachable }, clock.nowMs(), slice),
    unprepared: () => unpreparedModules(problems),
    upstreamsOf: (id) => upstreamsOf(id, deps),
    storeProblem: () => store.health().problem,
    directories: DIRECTORIES,
  });
}

/** What would end a start, if one record of these kinds did. */
const DIRECTORIES: KnownHere['directories'] = new Map<string, (record: StoredRecord) => unknown>([
  [ALERT_KIND, alertOf],
  [apiKeys.kind, readKey],
  ['credential', ({ doc }) => readCredential(doc)],
  ['event_subscription', typesOf],
  [GUEST_LINK_KIND, guestLinkOf],
  [TOKEN_KIND, ({ doc }) => readToken(doc)],
  [DOMAIN_KIND, readDomain],
  [CERTIFICATE_KIND, readCertificate],
  [USER_ACCOUNT_KIND, (record) => emailKey(accountOf(record).email)],
]);

function alertOf(record: StoredRecord): readonly CheckedAlert[] {
  const { kind, title, dismissed_at: dismissedAt = null } = alertDoc(record);
  return dismissedAt === null ? [{ id: record.id, kind, title }] : [];
}
