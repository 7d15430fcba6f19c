/** What to do about a key that the API rejects. `source`: where it came from. */
export function keyAdvice(source: string): string {
  return `the key came from ${source}; set another with --api-key-file or POSTERN_CLI_API_KEY`;
}
