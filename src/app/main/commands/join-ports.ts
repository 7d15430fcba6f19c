import { randomBytes } from 'node:crypto';
import { realpath, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { CREDENTIAL_PREFIX } from '../../../control/resources/credentials/credential-token.ts';
import { makeDirectories, writeDurably } from '../../../kit/process/durable-file.ts';
import { enroll } from '../../../tunnel/agent/enroll.ts';
import type { JoinPorts } from '../../cli/agent/join/joined-file.ts';
import { agentPorts } from './agent-ports.ts';

const PRIVATE_FILE = 0o600;
const PRIVATE_DIRECTORY = 0o700;

export function joinPorts(): JoinPorts {
  return {
    files: {
      ...agentPorts().files,
      resolve: (path) => realpath(path).catch(() => resolve(path)),
      writePrivate: async (path, content) => {
        makeDirectories(dirname(path), PRIVATE_DIRECTORY);
        await writeDurably(path, content, PRIVATE_FILE);
      },
      remove: (path) => rm(path, { force: true }),
    },
    hostName: hostname(),
    enroll,
    newToken: () => `${CREDENTIAL_PREFIX}${randomBytes(32).toString('base64url')}`,
    readStdin: () => text(process.stdin),
  };
}
