import { setImmediate as pause } from 'node:timers/promises';
import { derOf, pemBlocks } from '../pem-blocks.ts';
import { ListProblem } from './list-problem.ts';
import type { RevocationList } from './revocation-list.ts';
import { scanList } from './scan-list.ts';

const MAX_LISTS = 16;
/** RFC 7468 §6; some programs write the second. */
const LABELS: readonly string[] = ['X509 CRL', 'CRL'];
const SLICE_MS = 5;

/** The lists in a PEM text, in one go: only for texts of limited length. Throws ListProblem. */
export function listsInPem(pem: string): readonly RevocationList[] {
  return encodedLists(pem).map((der) => {
    const scanning = scanList(der);
    for (;;) {
      const step = scanning.next();
      if (step.done === true) return step.value;
    }
  });
}

/** The lists in a response: DER (RFC 2585) or PEM. Other work continues in between. Throws ListProblem. */
export async function listsInBytes(bytes: Buffer): Promise<readonly RevocationList[]> {
  const isPem = bytes.subarray(0, 65_536).includes('-----BEGIN');
  const encoded = isPem ? encodedLists(bytes.toString('latin1')) : [bytes];
  const lists: RevocationList[] = [];
  for (const der of encoded) lists.push(await listInSlices(der));
  return lists;
}

async function listInSlices(der: Buffer): Promise<RevocationList> {
  const scanning = scanList(der);
  let sliceEndMs = performance.now() + SLICE_MS;
  for (;;) {
    const step = scanning.next();
    if (step.done === true) return step.value;
    if (performance.now() < sliceEndMs) continue;
    await pause();
    sliceEndMs = performance.now() + SLICE_MS;
  }
}

function encodedLists(pem: string): readonly Buffer[] {
  try {
    const blocks = pemBlocks(pem, MAX_LISTS);
    if (blocks.length === 0) throw new Error('it contains no "X509 CRL" block');
    const foreign = blocks.find(({ label }) => !LABELS.includes(label))?.label.slice(0, 40);
    if (foreign !== undefined) throw new Error(`it contains a "${foreign}" block; only "X509 CRL" blocks are allowed`);
    return blocks.map(derOf);
  } catch (error) {
    throw new ListProblem(`is not a revocation list in PEM (${error instanceof Error ? error.message : 'unreadable'})`);
  }
}
