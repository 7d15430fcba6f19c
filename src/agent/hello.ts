import { platform, release } from 'node:os';
import type { Hello } from '../tunnel/messages.ts';
import { PROTOCOL_VERSION } from '../tunnel/protocol.ts';
import type { AgentOptions } from './options.ts';
import { ownVersion } from './version.ts';

/** The agent's identity. Each connection adds the session that it claims. */
export function helloOf({ authtoken, agentVersion, metadata, remoteManagement }: AgentOptions): Hello {
  return {
    t: 'hello',
    version: PROTOCOL_VERSION,
    token: authtoken,
    agent_version: agentVersion ?? ownVersion(),
    os: `${platform()} ${release()}`.slice(0, 64),
    metadata: metadata ?? '',
    remote_management: remoteManagement !== false,
  };
}
