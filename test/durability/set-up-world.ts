import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from '../../src/kit/json.ts';
import { openCertificateAuthority } from '../../src/proxy/pki/certificate-authority.ts';
import type { ApiConnection } from '../support/api-connection.ts';
import { memoryRecords } from '../support/internal-ca.ts';
import { CHANGE_EVENTS } from './event-checks.ts';
import type { Ledger } from './ledger.ts';
import { documentsIn } from './rendered-documents.ts';

/** Resources that the writers refer to but do not create: authorities, and a subscription to every change. */
export async function setUpWorld(api: ApiConnection, ledger: Ledger): Promise<{ readonly revision: number }> {
  for (let n = 0; n < 3; n += 1) {
    const ca_pem = await newAuthorityPem(`authority ${n}`);
    await made(api, ledger, 'certificate_authority', '/certificate_authorities', {
      description: `setup ca ${n}`,
      ca_pem,
    });
  }
  const destination = await made(api, ledger, 'event_destination', '/event_destinations', {
    description: 'setup destination',
    target: { file: { name: 'events.log' } },
  });
  const subscription = await made(api, ledger, 'event_subscription', '/event_subscriptions', {
    description: 'setup subscription',
    sources: CHANGE_EVENTS.map((type) => ({ type })),
    destination_ids: [destination.body['id'] as string],
  });
  return { revision: subscription.revision };
}

async function made(
  api: ApiConnection,
  ledger: Ledger,
  kind: string,
  path: string,
  body: JsonObject,
): Promise<{ readonly body: JsonObject; readonly revision: number }> {
  const answer = await api.send('POST', path, body);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  for (const [key, state] of documentsIn(kind, answer.body as JsonObject)) ledger.acknowledge(key, state);
  return { body: answer.body as JsonObject, revision: Number(answer.headers['postern-revision']) };
}

async function newAuthorityPem(commonName: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'postern-authority-'));
  try {
    const request = { id: 'ca', directory: join(directory, 'ca'), commonName, domain: null, nowMs: Date.now() };
    const log = { info() {}, warn() {} };
    return (await openCertificateAuthority(request, memoryRecords(), log)).certificatePem;
  } finally {
    await rm(directory, { recursive: true });
  }
}
