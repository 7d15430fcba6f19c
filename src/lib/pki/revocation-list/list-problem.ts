/** Why a revocation list cannot be used, as the rest of a sentence: "is an indirect list: …". */
export class ListProblem extends Error {}
