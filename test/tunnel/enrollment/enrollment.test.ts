import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { localHttp } from '../support/fault-world.ts';
import { invitationIn, joinWith, newToken, outcomeOf } from './joining.ts';

const offset = { ms: 0 };
const world = await TunnelWorld.open({ after }, {}, { clock: { nowMs: () => Date.now() + offset.ms } });
const { edge } = world;

interface Invited {
  readonly id: string;
  readonly invitation: string;
  readonly gateway: string;
  readonly expires_at: string;
}

function invite(fields: object = {}): Promise<Invited> {
  return edge.api('POST', '/agent_invitations', fields);
}

suite('an invitation for an agent', () => {
  test('becomes a credential that is limited to its hosts, once', async () => {
    const before: { revision: number }[] = (await edge.api('GET', '/changes?limit=1')).changes;
    const invited = await invite({ description: 'builds', acl: ['bind:*.joined.localhost'] });
    assert.equal(invited.gateway, `127.0.0.1:${world.port}`);
    const token = newToken();
    const { credentialId, acl, authority } = await joinWith(invited.invitation, { token });
    assert.deepEqual(acl, ['bind:*.joined.localhost']);
    const { description, acl: stored } = await edge.api('GET', `/credentials/${credentialId}`);
    assert.deepEqual([description, stored], ['builds on build-1', acl]);
    assert.equal((await edge.world.api('GET', `/agent_invitations/${invited.id}`)).status, 404);

    const port = await localHttp({ after }, (_request, response) => response.end('joined'));
    const fields = { authtoken: token, ca: authority ?? [] };
    const agent = await world.agent([{ proto: 'https', addr: port, domain: 'a.joined.localhost' }], fields);
    await agent.close();
    const other = world.agent([{ proto: 'https', addr: port, domain: 'a.elsewhere.localhost' }], fields);
    await assert.rejects(other, /ERR_POSTERN_TUNNEL_ACL|acl/);

    assert.equal(await outcomeOf(joinWith(invited.invitation)), 'ERR_POSTERN_AGENT_INVITATION');
    const { changes } = await edge.api('GET', '/changes?limit=2');
    assert.equal(changes.length, 2, 'one change invites, and one exchanges');
    assert.equal(changes[0].revision, (before[0]?.revision ?? 0) + 2);
    assert.equal(changes[0].author.kind, 'api_key');
  });

  test('answers alike when it expired, was used, was revoked or never existed', async () => {
    const [used, revoked, expired] = [await invite(), await invite(), await invite()];
    await joinWith(used.invitation);
    await edge.api('DELETE', `/agent_invitations/${revoked.id}`);
    const never = { ...invitationIn(used.invitation), secret: Buffer.alloc(16, 1).toString('base64url') };
    offset.ms = 600_000;
    const problems = await Promise.all(
      [used, revoked, expired]
        .map(({ invitation }) => joinWith(invitation))
        .concat(joinWith(used.invitation, { invitation: never }))
        .map((joining) => joining.then(() => 'joined').catch((error: Error) => error.message)),
    );
    assert.equal(new Set(problems).size, 1, problems.join('\n'));
    assert.match(problems[0] ?? '', /expired, or was used or revoked; ask for a new one/);

    const left = async (): Promise<readonly string[]> =>
      (await edge.api('GET', '/agent_invitations')).agent_invitations.map(({ id }: Invited) => id);
    assert.ok((await left()).includes(expired.id));
    const next = await invite();
    assert.deepEqual(await left(), [next.id], 'the next invitation removes those that expired');
    offset.ms = 0;
  });

  test('is won by one of many agents that use it at the same moment', async () => {
    const { invitation } = await invite({ acl: ['bind:race.localhost'] });
    const outcomes = await Promise.all(Array.from({ length: 4 }, () => outcomeOf(joinWith(invitation))));
    assert.equal(outcomes.filter((outcome) => outcome === 'joined').length, 1, outcomes.join());
    const { credentials } = await edge.api('GET', '/credentials?limit=100');
    const made = credentials.filter(({ acl }: { acl: string[] }) => acl.includes('bind:race.localhost'));
    assert.equal(made.length, 1);
  });

  test('gives an agent that lost the answer the same credential again', async () => {
    const { invitation } = await invite();
    const token = newToken();
    const [one, other] = [await joinWith(invitation, { token }), await joinWith(invitation, { token })];
    assert.equal(one.credentialId, other.credentialId);
  });

  test('on trial is of use only after its confirmation: a credential would outlive the revert', async () => {
    const operations = [{ method: 'POST', path: '/agent_invitations', body: { acl: ['bind:trial.localhost'] } }];
    const wait = async (): Promise<{ revision: number; results: { body: Invited }[] }> =>
      edge.api('POST', '/changesets', { operations, confirm_within: '5m' });
    const joining = ({ results: [made] }: Awaited<ReturnType<typeof wait>>): Promise<string> =>
      joinWith(made?.body.invitation ?? '').then(
        () => 'joined',
        (error: Error) => error.message,
      );
    const reverted = await wait();
    assert.match(await joining(reverted), /still waits for its confirmation/);
    await edge.api('POST', `/changes/${reverted.revision}/revert`, {});
    assert.match(await joining(reverted), /expired, or was used or revoked/);
    const confirmed = await wait();
    await edge.api('POST', `/changes/${confirmed.revision}/confirm`, {});
    assert.equal(await joining(confirmed), 'joined');
    const { credentials } = await edge.api('GET', '/credentials?limit=100');
    const made = credentials.filter(({ acl }: { acl: string[] }) => acl.includes('bind:trial.localhost'));
    assert.equal(made.length, 1);
  });

  test('is made only by those who may make a credential', async () => {
    const keyWith = async (...scopes: readonly string[]): Promise<string> =>
      (await edge.api('POST', '/api_keys', { scopes })).token;
    const key = await keyWith('agent_invitations:read', 'agent_invitations:write');
    const refused = await edge.world.api('POST', '/agent_invitations', {}, { key });
    assert.equal(refused.status, 403);
    assert.match(refused.body.msg ?? refused.text, /credentials:write/);
    const both = await keyWith('agent_invitations:write', 'credentials:write');
    const { status, body } = await edge.world.api('POST', '/agent_invitations', {}, { key: both });
    assert.equal(status, 201);
    // The deletion takes a right away, which needs none.
    assert.equal((await edge.world.api('DELETE', `/agent_invitations/${body.id}`, undefined, { key })).status, 204);
  });

  test('is refused for an address that no agent can dial, and cannot be widened later', async () => {
    for (const gateway of ['0.0.0.0:7444', '[::]:7444', 'gateway', 'gateway:0', 'a b:1', '\u001b[1m:7444']) {
      assert.equal((await edge.world.api('POST', '/agent_invitations', { gateway })).status, 400, gateway);
    }
    const { id, expires_at: expiresAt } = await invite({ acl: ['bind:a.localhost'] });
    for (const change of [{ acl: ['bind:*'] }, { gateway: 'other.example.com:1' }]) {
      assert.equal((await edge.world.api('PATCH', `/agent_invitations/${id}`, change)).status, 400);
    }
    await edge.world.api('PATCH', `/agent_invitations/${id}`, { acl: [], expires_at: '2099-01-01T00:00:00Z' });
    const shown = await edge.world.api('GET', `/agent_invitations/${id}`);
    assert.deepEqual([shown.body.acl, shown.body.expires_at], [['bind:a.localhost'], expiresAt]);
    assert.doesNotMatch(shown.text, /pstn-|secret/);
  });

  test('names a machine only by a host name', async () => {
    for (const name of ['\u001b[31mred', 'a'.repeat(253), 'x\ny', '', 'Büro']) {
      const { credentialId } = await joinWith((await invite()).invitation, { name });
      const { description } = await edge.api('GET', `/credentials/${credentialId}`);
      assert.match(description, /^(another machine|a+)$/);
    }
  });
});
