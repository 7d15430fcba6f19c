import { isMainThread, parentPort } from 'node:worker_threads';
import { AddressListProblem } from '../../lib/net/address-list/list-problem.ts';
import { parseAddressList } from '../../lib/net/address-list/parse-address-list.ts';
import type { BuildAnswer, BuildJob } from '../built-table.ts';
import { countryTable } from './country-table.ts';

/** A thread that makes tables of lists: a million lines take a second, and a damaged database may take forever. */
if (!isMainThread && parentPort !== null) {
  const port = parentPort;
  port.on('message', (job: BuildJob) => port.postMessage(answer(job)));
}

function answer({ format, chunks }: BuildJob): BuildAnswer {
  try {
    const [bytes = new Uint8Array()] = chunks.length > 1 ? [Buffer.concat(chunks)] : chunks;
    return format === 'plain' ? parseAddressList(bytes) : countryTable(bytes);
  } catch (error) {
    if (error instanceof AddressListProblem) return { problem: error.message };
    // What a library says about damaged bytes may quote them.
    return { problem: format === 'plain' ? 'cannot be read' : 'is not an MMDB file, or is damaged' };
  }
}
