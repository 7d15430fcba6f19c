import { Resources } from '../../client/generated/resources.ts';
import type { Setting } from '../../client/generated/settings.ts';
import type { Transport } from '../../client/transport.ts';
import { decodeSetting } from '../../config/decode.ts';
import type { Config } from '../../config/schema.ts';
import { isLoopbackHost, type ListenAddresses } from '../../lib/net/listen-address.ts';
import { publicPorts } from '../../lib/net/public-ports.ts';

export type ShownSettings = readonly Pick<Setting, 'name' | 'value'>[];

/** What publishing a site depends on. */
export interface ServerFacts {
  /** With its port, as in the setting. */
  readonly identityHost: string | null;
  readonly isAcmeOn: boolean;
  /** The port in the addresses of sites. */
  readonly publicPort: number;
  /** All that visitors can use; null: nobody knows them before the start. */
  readonly publicPorts: readonly number[] | null;
  /** Whether only this machine can reach it. */
  readonly isLocalOnly: boolean;
  /** Host of the API's public address; null: it has none. */
  readonly apiHost: string | null;
}

type Needed = Pick<Config, 'identity_host' | 'acme' | 'edge_listen' | 'edge_host_ports' | 'api_url'>;

export function factsOf({ identity_host, acme, edge_listen, api_url, edge_host_ports: mapped }: Needed): ServerFacts {
  const listening = edge_listen.map(({ port }) => port);
  const ports = publicPorts({ listening, mapped });
  return {
    identityHost: identity_host,
    isAcmeOn: acme === 'on',
    publicPort: ports[0] ?? edge_listen[0].port,
    publicPorts: listening.includes(0) ? null : ports,
    // A port that something in front maps is reached from there.
    isLocalOnly: mapped.length === 0 && edge_listen.every(({ host }) => isLoopbackHost(host)),
    apiHost: api_url === null ? null : new URL(api_url).hostname,
  };
}

/** The settings of a server that runs. */
export function readSettings(transport: Transport): Promise<ShownSettings> {
  return Array.fromAsync(new Resources(transport).settings.list());
}

export function factsInEffect(settings: ShownSettings): ServerFacts {
  const shown = (name: string): unknown => settings.find((each) => each.name === name)?.value ?? null;
  const decoded = (name: string): unknown => decodeSetting(name, shown(name), 'the server');
  return factsOf({
    identity_host: shown('identity_host') as string | null,
    api_url: shown('api_url') as string | null,
    acme: shown('acme') as Needed['acme'],
    edge_listen: decoded('edge_listen') as ListenAddresses,
    edge_host_ports: decoded('edge_host_ports') as Needed['edge_host_ports'],
  });
}
