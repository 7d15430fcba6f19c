import type { Config } from '../../config/schema.ts';
import type { Replica } from '../../replica/replica.ts';
import { CONSOLE_SESSION_KIND, sessionOf } from '../../resources/console-session-record.ts';
import type { Store } from '../../store/store.ts';
import { CONSOLE_CLIENT } from './console-client.ts';

interface Ports {
  readonly issuer: string;
  readonly config: Pick<Config, 'console_oidc_client_id'>;
  readonly replica: Pick<Replica, 'all'>;
  readonly store: Pick<Store, 'commit'>;
}

/** Ends what the console opened with a session at the identity host. `clientId`: see `IdentityProviderOptions`. */
export async function endConsoleSessions(
  providerSessionId: string,
  clientId: string | null,
  { issuer, config, replica, store }: Ports,
): Promise<void> {
  if (clientId !== null && clientId !== (config.console_oidc_client_id ?? CONSOLE_CLIENT)) return;
  const opened = [...replica.all(CONSOLE_SESSION_KIND)].filter((record) => {
    const { who } = sessionOf(record);
    return who.kind === 'person' && who.issuer === issuer && who.providerSessionId === providerSessionId;
  });
  // One by one: another node may have deleted some.
  for (const { kind, id } of opened) await store.commit({ deletes: [{ kind, id }] });
}
