import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { IDENTITY_FLOODS } from '../support/identity-floods.ts';
import { IDENTITY_HOST, IDENTITY_ORIGIN, IdentityWorld } from '../support/identity-world.ts';

/** From so many addresses, each below the limit of attempts. */
const REQUESTS = 6;
const REDIRECT_URI = 'https://wiki.example.com/callback';
const EMAIL = 'ana@example.com';

const world = await IdentityWorld.open(
  { after },
  {
    env: {
      POSTERN_IDENTITY_EMAIL_CODES: 'true',
      POSTERN_SMTP_URL: 'smtp://127.0.0.1:9',
      POSTERN_MAIL_FROM: 'postern@example.test',
    },
  },
);
// A person with a role in the console gets no codes: src/control/identity/email-codes.test.ts bounds those of others.
await world.invite(EMAIL, { groups: ['postern-admins'] });
const { client_id: clientId } = await world.edge.api('POST', '/oidc_clients', {
  name: 'Wiki',
  redirect_uris: [REDIRECT_URI],
  allow_groups: ['*'],
});
const database = new DatabaseSync(join(world.edge.world.dataDir, 'postern.sqlite'), { readOnly: true });
after(() => database.close());

/** Changes with every transaction that another connection commits. */
function writes(): unknown {
  return database.prepare('PRAGMA data_version').get()?.['data_version'];
}

function flooded(number: number) {
  return {
    origin: IDENTITY_ORIGIN,
    clientId,
    redirectUri: REDIRECT_URI,
    email: EMAIL,
    ask: (path: string, options: object = {}) =>
      world.edge.ask(IDENTITY_HOST, path, {
        rejectUnauthorized: false,
        localAddress: `127.${number + 1}.${number + 1}.1`,
        ...options,
      }),
  };
}

async function flood(kind: keyof typeof IDENTITY_FLOODS): Promise<readonly number[]> {
  const statuses: number[] = [];
  for (let number = 0; number < REQUESTS; number += 1) {
    statuses.push((await IDENTITY_FLOODS[kind]?.(flooded(number), number))?.status ?? 0);
  }
  return statuses;
}

/** Whether these requests write. The server itself writes now and then, such as a certificate: once is no proof. */
async function isWriting(kind: string): Promise<boolean> {
  for (let tries = 0; tries < 3; tries += 1) {
    const before = writes();
    const statuses = await flood(kind);
    assert.ok(
      statuses.every((status) => status >= 200 && status < 500),
      `${kind}: ${statuses.join(' ')}`,
    );
    if (writes() === before) return false;
  }
  return true;
}

test('whatever somebody sends who has proved nothing, the store writes nothing and nothing fails', async () => {
  const writing: string[] = [];
  for (const kind of Object.keys(IDENTITY_FLOODS)) if (await isWriting(kind)) writing.push(kind);
  assert.deepEqual(writing, []);
});
