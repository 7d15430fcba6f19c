import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, suite, test } from 'node:test';
import { WebSocketServer } from 'ws';
import { openWebSocket } from '../../support/edge-websocket.ts';
import { GuestWorld, type Invitation } from './guest-world.ts';

const world = await GuestWorld.open({ after });
const { edge, clock } = world.login;
const echoes = new WebSocketServer({ server: world.login.upstream });
echoes.on('connection', (socket) => socket.on('message', (data) => socket.send(data)));
const site = await world.site();

const ENDS: readonly (readonly [name: string, end: (link: Invitation) => Promise<unknown>])[] = [
  ['the link is deleted', ({ uri }) => edge.api('DELETE', uri)],
  [
    'the session is deleted',
    async (link) => edge.api('DELETE', `/app/sessions/${(await world.usedBy(link))[0]?.session}`),
  ],
  ['the link expires', async () => clock.advance(4 * 86_400)],
  [
    'the link is shortened',
    async ({ uri }) => {
      await edge.api('PATCH', uri, { expires_at: world.inDays(1) });
      clock.advance(86_400);
    },
  ],
  ['guests are no longer allowed', () => edge.api('PUT', `${site.routePath}/access`, { allow: [] })],
];

suite('streams of guests', () => {
  for (const [name, end] of ENDS) {
    test(`end when ${name}`, async () => {
      const link = await world.invite(site);
      const browser = await world.guest(link);
      const socket = await openWebSocket(world.login, browser, site.host);
      socket.send('before');
      assert.equal(String((await once(socket, 'message'))[0]), 'before');
      const closed = once(socket, 'close');
      await end(link);
      await closed;
      assert.equal((await browser.open(site.host)).status, 403);
      clock.reset();
    });
  }
});
