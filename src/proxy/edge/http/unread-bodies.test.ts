import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  type UnreadUpload,
  UnreadUploads,
  UnsentResponses,
  type UploadingConnection,
  type UploadOwner,
} from './unread-bodies.ts';

const MIB = 1024 * 1024;
const MAX_UNREAD_PER_CONNECTION = 96 * MIB;
const MAX_UNREAD_IN_TOTAL = 256 * MIB;

class FakeUpload implements UnreadUpload {
  readonly clientAddress: string;
  unreadBytes: number;
  isRefused = false;
  readonly connection: UploadingConnection;

  constructor(
    unreadBytes: number,
    connection: UploadingConnection = { onUnread: () => {} },
    clientAddress = '10.0.0.1',
  ) {
    this.unreadBytes = unreadBytes;
    this.connection = connection;
    this.clientAddress = clientAddress;
  }

  refuseUnread(): void {
    this.isRefused = true;
  }
}

/** Every upload has just got enough to be measured. */
function arrived(uploads: UnreadUploads, ...all: readonly FakeUpload[]): readonly boolean[] {
  for (const upload of all) uploads.add(upload, 4 * MIB);
  return all.map(({ isRefused }) => isRefused);
}

suite('unread uploads', () => {
  test('ends the largest upload of a connection that holds too much, and no other', () => {
    const connection = { onUnread: () => {} };
    const half = MAX_UNREAD_PER_CONNECTION / 2;
    const [small, large] = [new FakeUpload(half, connection), new FakeUpload(half + 1, connection)];
    const other = new FakeUpload(MAX_UNREAD_PER_CONNECTION);
    assert.deepEqual(arrived(new UnreadUploads(), other, small, large), [false, false, true]);
  });

  test('ends the largest uploads of all when the process holds too much', () => {
    const quarter = MAX_UNREAD_IN_TOTAL / 4;
    const all = [1, 2, 3, 0].map((more) => new FakeUpload(quarter + more * MIB));
    assert.deepEqual(arrived(new UnreadUploads(), ...all), [false, false, true, false]);
  });

  test('ends those of the address with most when the process holds too much, however small each is', () => {
    const connections = [0, 1, 2].map(() => ({ onUnread: () => {} }));
    const many = Array.from({ length: 270 }, (_, at) => new FakeUpload(MIB, connections[at % 3], '10.0.1.1'));
    const other = new FakeUpload(8 * MIB, undefined, '10.0.1.2');
    const refused = arrived(new UnreadUploads(), other, ...many);
    assert.deepEqual([refused[0], refused.filter(Boolean).length], [false, 270 + 8 - 256]);
  });

  test('forgets what was read or has ended', () => {
    const uploads = new UnreadUploads();
    const [read, ended] = [new FakeUpload(MAX_UNREAD_IN_TOTAL / 2), new FakeUpload(MAX_UNREAD_IN_TOTAL / 2)];
    uploads.add(read, 1);
    uploads.add(ended, 1);
    read.unreadBytes = 0;
    uploads.delete(ended);
    assert.deepEqual(arrived(uploads, new FakeUpload(MAX_UNREAD_PER_CONNECTION)), [false]);
    read.unreadBytes = MAX_UNREAD_IN_TOTAL / 2;
    assert.deepEqual(arrived(uploads, new FakeUpload(MAX_UNREAD_PER_CONNECTION)), [false]);
  });

  test('reports the sum of its uploads to a connection', () => {
    const seen: number[] = [];
    const connection = { onUnread: (bytes: number) => seen.push(bytes) };
    arrived(new UnreadUploads(), new FakeUpload(MIB, connection), new FakeUpload(2 * MIB, connection));
    assert.deepEqual(seen, [MIB, 3 * MIB]);
  });

  test('shares the windows among the addresses that upload, and then among their connections', () => {
    const uploads = new UnreadUploads();
    const windowsOf = (owner: UploadOwner): number => uploads.windowsPerConnection(owner) / MIB;
    const begin = (owner: UploadOwner): number => {
      uploads.began(owner);
      return windowsOf(owner);
    };
    assert.deepEqual(
      [0, 1, 2, 3].map(() => begin('10.0.0.1')),
      [64, 64, 128 / 3, 32],
    );
    for (let n = 0; n < 1_000; n += 1) begin('10.0.0.1');
    assert.equal(begin('10.0.0.2'), 64, 'connections of another address take nothing from it');
    const proxied = [0, 1].map(() => ({ onUnread: () => {} }));
    assert.deepEqual(proxied.map(begin), [64, 64], 'a proxy has many visitors');
    for (let n = 3; n <= 8; n += 1) begin(`10.0.1.${n}`);
    assert.equal(windowsOf('10.0.0.2'), 25.6, 'ten share 256 MiB');
    for (let n = 0; n < 1_004; n += 1) uploads.ended('10.0.0.1');
    assert.equal(begin('10.0.0.1'), 25.6);
  });
});

suite('unsent responses', () => {
  /** Which of these are cut. Each is [address, MiB]. */
  function cut(...all: readonly (readonly [clientAddress: string, mib: number])[]): readonly number[] {
    const ended: number[] = [];
    const responses = new UnsentResponses(() =>
      all.map(([clientAddress, mib], at) => ({
        clientAddress,
        unsentBytes: mib * MIB,
        refuseUnsent: () => ended.push(at),
      })),
    );
    responses.measure();
    responses.close();
    return ended;
  }

  test('cuts the largest of an address that has too much, and no other', () => {
    assert.deepEqual(cut(['10.0.0.1', 40], ['10.0.0.1', 50], ['10.0.0.1', 6], ['10.0.0.2', 96]), []);
    assert.deepEqual(cut(['10.0.0.1', 40], ['10.0.0.1', 50], ['10.0.0.1', 7], ['10.0.0.2', 96]), [1]);
  });

  test('takes a network of IPv6 for one address', () => {
    assert.deepEqual(cut(['2001:db8::1', 60], ['2001:db8::2', 61]), [1]);
    assert.deepEqual(cut(['2001:db8:0:1::1', 60], ['2001:db8:0:2::2', 61]), []);
  });

  test('cuts those of the addresses with most when it is too much in total', () => {
    assert.deepEqual(cut(['10.0.0.1', 50], ['10.0.0.2', 90], ['10.0.0.3', 30], ['10.0.0.3', 60]), []);
    assert.deepEqual(cut(['10.0.0.1', 50], ['10.0.0.2', 92], ['10.0.0.3', 90], ['10.0.0.4', 50]), [1]);
  });
});
