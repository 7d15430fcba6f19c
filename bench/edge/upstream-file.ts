import { fileURLToPath } from 'node:url';

/** The program in `upstream.ts`. */
export const UPSTREAM = fileURLToPath(new URL('./upstream.ts', import.meta.url));
