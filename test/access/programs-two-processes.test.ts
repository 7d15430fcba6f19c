// Long form: the same ends with one stream. Short form: test/access/two-nodes.test.ts
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { WebSocket, WebSocketServer } from 'ws';
import { EdgeWorld } from '../support/edge-world.ts';
import { LoginWorld } from '../support/login-world.ts';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { bearer, type Program, ProgramsWorld } from './programs-world.ts';

/** Two Postern processes on one PostgreSQL: both know the same tokens. */
const postgres = await startPostgres();
const database = await freshDatabase(postgres);
const env = { POSTERN_SECRET_KEY: randomBytes(32).toString('base64') };
const login = await LoginWorld.open({ after }, { env, databaseUrl: database.url });
const there = await EdgeWorld.open({ after }, env, { databaseUrl: database.url });
after(() => postgres.stop());
new WebSocketServer({ server: login.upstream }).on('connection', (socket) => socket.send('first'));
const world = new ProgramsWorld(login);

const ENDS: Readonly<Record<string, (program: Program) => Promise<unknown>>> = {
  'a deleted token': ({ tokenId }) => login.edge.api('DELETE', `/service_account_tokens/${tokenId}`),
  'a deactivated account': ({ accountId }) =>
    login.edge.api('PATCH', `/service_accounts/${accountId}`, { active: false }),
};

for (const [name, change] of Object.entries(ENDS)) {
  test(`${name} cuts the streams of every process`, async () => {
    const program = await world.program();
    const site = await world.site({ allow: [{ service_accounts: [program.accountId] }] });
    await there.world.server.replica.refresh();
    const socket = new WebSocket(`wss://127.0.0.1:${there.port}/`, {
      servername: site.host,
      rejectUnauthorized: false,
      headers: { host: site.host, ...bearer(program.token) },
    } as never);
    await once(socket, 'message');
    const closed = once(socket, 'close');
    await change(program);
    await closed;
    const headers = bearer(program.token);
    assert.equal(await there.status(site.host, '/', { rejectUnauthorized: false, headers }), 401);
  });
}
