import { parseListenAddress } from '../lib/net/listen-address.ts';
import { localhostLookup } from '../lib/net/localhost-lookup.ts';
import { upstreamSecureContext } from '../upstream/upstream-secure-context.ts';
import { AgentError } from './agent-error.ts';
import type { GatewayAddress } from './dial-gateway.ts';
import type { AgentOptions } from './options.ts';

type AddressOptions = Pick<AgentOptions, 'serverAddr' | 'servername' | 'ca' | 'lookup'>;

/** Throws `AgentError` when the address is not valid. */
export function gatewayAddress({ serverAddr, servername, ca, lookup }: AddressOptions): GatewayAddress {
  const address = parseListenAddress(serverAddr);
  if (address === null || address.port === 0) {
    const message = `the server's address "${serverAddr}" is not host:port, as in tunnel.example.com:4443`;
    throw new AgentError('ERR_POSTERN_AGENT_OPTIONS', message);
  }
  return {
    ...address,
    serverAddr,
    servername: servername ?? address.host,
    context: upstreamSecureContext(ca),
    lookup: lookup ?? localhostLookup,
  };
}
