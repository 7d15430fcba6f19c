import { LocalCallers } from '../../control/api/authentication.ts';
import { type OthersWrites, othersWrites } from '../../control/api/others-writes.ts';
import type { OpenedConsole } from '../../control/console/open-console.ts';
import { openConsole } from '../../control/console/open-console.ts';
import { isRole, scopesOfRole } from '../../control/console/roles.ts';
import type { OperationPorts } from '../../control/documents/operations.ts';
import { People } from '../../control/identity/people.ts';
import { KeyDirectory } from '../../control/resources/api_keys/api-keys.ts';
import { credentialDirectory } from '../../control/resources/credentials/credentials.ts';
import type { Principal } from '../../control/resources/operation.ts';
import { renderPasskey } from '../../control/resources/passkeys/passkeys.ts';
import { withRefs } from '../../control/resources/requests/requests.ts';
import { coversScopes } from '../../control/resources/scopes.ts';
import type { ApiDependencies, DocumentsOpened } from './api-documents.ts';
import { nodeName } from './cluster/nodes.ts';
import { consolePeople, firstAdministratorLink, logOutOneself } from './people/console-people.ts';
import { programVersion } from './version.ts';

/** Who may call the API: with an API key, on this machine, or logged in at the console. */
export interface CallersOpened {
  /** Null: identity is off. */
  readonly people: People | null;
  readonly others: OthersWrites;
  /** Callers on this machine. */
  readonly local: LocalCallers;
  readonly webConsole: OpenedConsole;
  readonly findCaller: (token: string) => Principal | null;
  readonly kindOfToken: (token: string) => string | null;
}

export function openCallers(deps: ApiDependencies, opened: DocumentsOpened, ports: OperationPorts): CallersOpened {
  const { config, store, replica, catalog, clock, nodes } = deps;
  const people = openPeople(deps, opened, ports);
  const others = othersWrites(store, replica, nodes?.news ?? null);
  const localRole = config.local_commands;
  const localScopes = isRole(localRole) ? scopesOfRole(localRole, catalog.scopes) : null;
  const local = new LocalCallers({ clock, node: nodeName(config), scopes: localScopes });
  const keys = new KeyDirectory(replica);
  const findCaller = (token: string): Principal | null => keys.find(token) ?? local.find(token);
  const webConsole = openConsole({
    ...{ store, replica, clock, newId: opened.newId, logger: deps.logger, version: programVersion() },
    scopes: catalog.scopes,
    own: { baseUrl: deps.baseUrl, isTls: config.api_tls_cert !== null },
    idleSeconds: config.console_session_idle,
    lifetimeSeconds: config.console_session_lifetime,
    live: deps.traffic?.live((request) => withRefs(request, ports.ref)) ?? null,
    findKey: findCaller,
    localScopes,
    searchedWords: (text, principal) => ports.search.callers(text, { principal }),
    isCurrent: () => others.isCurrent,
    identityIssuer: opened.settings.identity?.issuer ?? null,
    people: consolePeople(config, { clock, logger: deps.logger, ownIssuer: deps.ownIssuer }),
  });
  // Streams would never end by themselves.
  deps.health.onDraining(() => webConsole.endStreams());
  const credentials = credentialDirectory(replica, others);
  // A preset one may have any form.
  const kindOfToken = (token: string): string | null =>
    credentials.find(token) === null ? null : 'the token of an agent';
  return { people, others, local, webConsole, findCaller, kindOfToken };
}

function openPeople(deps: ApiDependencies, opened: DocumentsOpened, ports: OperationPorts): People | null {
  const { store, replica, clock } = deps;
  const { newId, operations, settings } = opened;
  const { identity } = settings;
  if (identity === null) return null;
  return new People({
    ...{ store, replica, clock, newId, address: identity, coversScopes },
    consoleScopesOf: (claims) => settings.consoleScopesOf(claims),
    mail: (mail) => identity.mail(mail),
    passkeyEvent: (type, record) => ports.liveEvent(type, () => renderPasskey(record, ports), ''),
    logOut: (person) => logOutOneself(person, { issuer: identity.issuer, operations, ports }),
  });
}

/** Makes a new link for the first administrator. Null: there is one, or identity is off. */
export function administratorLinks(
  { config }: ApiDependencies,
  { context, operations, settings }: DocumentsOpened,
  people: People | null,
  ports: OperationPorts,
): () => Promise<string | null> {
  const { identity } = settings;
  return async () => {
    if (people === null || identity === null) return null;
    const invite = operations.find(({ resource, verb }) => resource === 'user_accounts' && verb === 'invite');
    if (invite === undefined) throw new Error('people cannot be invited');
    return firstAdministratorLink({ config, context, people, identity, ports, invite });
  };
}
