import { extname } from 'node:path';
import { loadPart } from '../load-part.ts';

/** Unknown extensions: the browser offers to save the file. */
const UNKNOWN = 'application/octet-stream';

/** The type of a file by its name, with its charset where the type has one. */
export type TypeOfFile = (name: string) => string;

let loading: Promise<TypeOfFile> | null = null;

/** Loaded with the first file: the list of types takes memory, and most servers serve no files. */
export function loadMediaTypes(): Promise<TypeOfFile> {
  loading ??= load();
  return loading;
}

async function load(): Promise<TypeOfFile> {
  try {
    // A bundle has a CommonJS module as the default export alone.
    const { contentType } = (await loadPart(() => import('mime-types'))).default;
    const known = new Map<string, string>();
    return (name) => {
      const extension = extname(name);
      let type = known.get(extension);
      if (type === undefined) {
        type = (extension === '' ? false : contentType(extension)) || UNKNOWN;
        // Names come from the disk, and types from a list: there are not many.
        if (type !== UNKNOWN) known.set(extension, type);
      }
      return type;
    };
  } catch (error) {
    loading = null;
    throw error;
  }
}
