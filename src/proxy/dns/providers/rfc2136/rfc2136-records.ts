import { randomInt } from 'node:crypto';
import type { ListenAddress } from '../../../../kit/net/listen-address.ts';
import { CLASS, OPERATION, TYPE, type WrittenMessage, writeMessage, writeText } from '../../dns-messages.ts';
import { DnsFailure, type OpenedZone, type TxtRecord, type ZoneRecords } from '../../dns-provider.ts';
import { ExchangeFailure, exchangeOverTcp, type ReceivedMessage } from '../../servers/exchange.ts';
import { signMessage, type TsigAlgorithm, type TsigKey, type TsigVerdict, verifyResponse } from '../../tsig.ts';
import { primaryServer } from './primary-server.ts';

const TIMEOUT_MS = 15_000;
const TTL = 60;
const BASE64 = /^[A-Za-z0-9+/]{4,}={0,2}$/;

const CODES: Readonly<Record<number, string>> = {
  1: 'FORMERR: it cannot read the update',
  2: 'SERVFAIL: see its log, for instance whether it may write the files of the zone',
  4: 'NOTIMP: it accepts no updates',
  5: 'REFUSED: it does not serve the zone, or does not allow the key to change TXT records of this name (BIND: update-policy)',
  9: 'NOTAUTH: it is not the primary server of the zone, or does not accept the key',
  10: 'NOTZONE: the name is in another zone of the server. Name that zone in acme_dns',
};
const VERDICTS: Readonly<Record<Exclude<TsigVerdict, 'valid'>, string>> = {
  BADKEY: 'it does not know the key (BADKEY): check key_name and key_algorithm',
  BADSIG: 'the key does not match (BADSIG): check key',
  BADTIME: 'the clocks differ by more than five minutes (BADTIME): correct the clock of this machine or of the server',
  missing: 'its answer is not signed: check that the server requires the key for updates',
};

/** Adds and deletes single values of a set, which the protocol does by itself (RFC 2136 §2.5.1, §2.5.4). */
export function rfc2136Records(zone: OpenedZone): ZoneRecords {
  const shown = zone.options['server'] as string;

  async function keyOf(): Promise<TsigKey> {
    const secret = await zone.secret('key');
    if (!BASE64.test(secret))
      throw new DnsFailure(`the TSIG key of ${zone.zone} is not in base64: check key in acme_dns`);
    const algorithm = (zone.options['key_algorithm'] ?? 'hmac-sha256') as TsigAlgorithm;
    return { name: zone.options['key_name'] as string, algorithm, secret: Buffer.from(secret, 'base64') };
  }

  async function send(what: string, message: Omit<WrittenMessage, 'id'>, signal: AbortSignal): Promise<void> {
    const key = await keyOf();
    const { bytes, mac } = signMessage(writeMessage({ id: randomInt(0x1_0000), ...message }), key, zone.ports.nowMs());
    const received = await exchange(bytes, signal);
    const { code } = received.message;
    const verdict = verifyResponse(received.bytes, received.message, key, {
      requestMac: mac,
      nowMs: zone.ports.nowMs(),
    });
    // A server that rejects the key cannot sign, and some do not sign what they refuse.
    if (verdict !== 'valid' && !(verdict === 'missing' && code !== 0)) throw failure(what, VERDICTS[verdict]);
    if (code !== 0) throw failure(what, `it answered ${CODES[code] ?? `code ${code}`}`);
  }

  async function exchange(bytes: Buffer, signal: AbortSignal): Promise<ReceivedMessage> {
    const { host, port } = primaryServer(shown) as ListenAddress;
    const addresses = await zone.ports.addressesOf(host);
    let last: unknown = new ExchangeFailure('ENOTFOUND');
    for (const address of addresses) {
      try {
        return await exchangeOverTcp({ address, port }, bytes, { timeoutMs: TIMEOUT_MS, signal });
      } catch (error) {
        last = error;
      }
    }
    if (!(last instanceof ExchangeFailure)) throw last;
    throw failure('cannot be asked', `${last.message}. Check server in acme_dns, and that it accepts TCP`);
  }

  const failure = (what: string, reason: string) =>
    new DnsFailure(`DNS server ${shown} (zone ${zone.zone}): ${what}: ${reason}`);

  const update = ({ name, value }: TxtRecord, recordClass: number, ttl: number): Omit<WrittenMessage, 'id'> => ({
    operation: OPERATION.UPDATE,
    question: { name: zone.zone, type: TYPE.SOA },
    updates: [{ name, type: TYPE.TXT, class: recordClass, ttl, data: writeText(value) }],
  });

  return {
    add: (record, signal) => send(`cannot add the TXT record ${record.name}`, update(record, CLASS.IN, TTL), signal),
    remove: (record, signal) =>
      send(`cannot remove the TXT record ${record.name}`, update(record, CLASS.NONE, 0), signal),
    check: async (signal) => {
      const question = { name: zone.zone, type: TYPE.SOA };
      await send('cannot read the zone', { operation: OPERATION.QUERY, question }, signal);
      return `${shown} knows the zone and the key`;
    },
  };
}
