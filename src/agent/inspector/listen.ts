import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { failureCode, messageOf } from '../../lib/error-text.ts';
import { formatListenAddress, type ListenAddress } from '../../lib/net/listen-address.ts';
import { AgentError } from '../agent-error.ts';

const MORE_PORTS = 10;

/** Binds the first free port, starting at the requested one. Throws `AgentError`. */
export async function listenNear(server: Server, { host, port }: ListenAddress): Promise<ListenAddress> {
  for (let tried = port; ; tried += 1) {
    try {
      server.listen({ host, port: tried, exclusive: true });
      await once(server, 'listening');
      return { host, port: (server.address() as AddressInfo).port };
    } catch (error) {
      const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
      if (isTaken && tried < port + MORE_PORTS && tried < 65_535) continue;
      const range = tried === port ? '' : ` and the ${tried - port} ports after it`;
      const message = `the inspector cannot listen on ${formatListenAddress({ host, port })}${range}: ${whyNotListening(error, host)}`;
      throw new AgentError('ERR_POSTERN_AGENT_INSPECTOR', message, { cause: error });
    }
  }
}

function whyNotListening(error: unknown, host: string): string {
  const code = failureCode(error);
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: 'the port is in use. Choose another one with --inspect-addr',
    EADDRNOTAVAIL: `the address ${host} does not belong to this machine. Choose another one with --inspect-addr`,
    EACCES: 'this user has no permission to open the port. Choose one above 1023 with --inspect-addr',
    ENOTFOUND: `the name ${host} does not resolve. Choose an address with --inspect-addr`,
  };
  return reasons[code] ?? messageOf(error);
}
