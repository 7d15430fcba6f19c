/** The part of the package `mime-types` that is used here: it has no declarations of its own. */
declare module 'mime-types' {
  /** The Content-Type for an extension, with its charset; false: the extension is unknown. */
  export function contentType(extension: string): string | false;
}
