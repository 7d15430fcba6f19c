import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Lease, LeaseLost, managedPut } from '../../src/proxy/acme/orders/lease.ts';
import { MANAGED_CERTIFICATE, type ManagedCertificateDoc } from '../../src/proxy/acme/records.ts';
import type { StoredRecord } from '../../src/store/store.ts';
import { openNode } from '../support/acme/manager-world.ts';

const NEW: Omit<ManagedCertificateDoc, 'hostname'> = {
  private_key_type: 'ecdsa',
  created_at: '2026-11-15T12:00:00Z',
  certificate_pem: null,
  serial_number: null,
  not_before: null,
  not_after: null,
  directory_url: null,
  challenge_type: null,
  renews_at: null,
  renewal_checked_at: null,
  renewal_check_at: null,
  expiring_reported: null,
  // Not wanted, so that nothing but the test works on it.
  unwanted_since: '2099-01-01T00:00:00Z',
  own_name_until: null,
  job: null,
  order: null,
  worker: null,
};

suite('a lease', () => {
  test('is refused when its slot is taken, and free again after the release', async (context) => {
    const { store, replica } = await openNode(context, { servers: [] });
    const added = async (id: string): Promise<StoredRecord> => {
      await store.commit({ puts: [managedPut(id, { ...NEW, hostname: `${id}.example.com` }, null)] });
      return replica.get(MANAGED_CERTIFICATE, id) as StoredRecord;
    };
    const [first, second] = [await added('mc_1'), await added('mc_2')];
    const options = { store, clock: { nowMs: () => Date.now() }, bootId: 'nd_1' };
    const lease = await Lease.take(options, first, 0, {});
    await assert.rejects(Lease.take({ ...options, bootId: 'nd_2' }, second, 0, {}), LeaseLost);
    const other = await Lease.take({ ...options, bootId: 'nd_2' }, second, 1, {});
    await other.release();
    await lease.release();
    const current = replica.get(MANAGED_CERTIFICATE, 'mc_2') as StoredRecord;
    await (await Lease.take(options, current, 0, {})).release();
  });

  test('that another node has taken over cannot write, and says so to its work', async (context) => {
    const { store, replica } = await openNode(context, { servers: [] });
    await store.commit({ puts: [managedPut('mc_1', { ...NEW, hostname: 'a.example.com' }, null)] });
    const options = { store, clock: { nowMs: () => Date.now() }, bootId: 'nd_1' };
    const record = (): StoredRecord => replica.get(MANAGED_CERTIFICATE, 'mc_1') as StoredRecord;
    const lease = await Lease.take(options, record(), 0, {});
    const taken = await Lease.take({ ...options, bootId: 'nd_2' }, record(), 0, { serial_number: 'aa' });
    assert.equal(lease.lost.aborted, false);
    await assert.rejects(lease.save({ serial_number: 'bb' }), LeaseLost);
    assert.equal(lease.lost.aborted, true);
    await lease.release();
    assert.equal(record().doc['serial_number'], 'aa');
    await taken.release();
  });
});
