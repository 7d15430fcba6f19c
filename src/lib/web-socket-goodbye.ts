/** Close frames with status 1001 "going away" (RFC 6455 §5.5.1 and §7.4.1). */
export const GOODBYE_TO_CLIENT = Buffer.from([0x88, 0x02, 0x03, 0xe9]);
/** A client's frames are masked; the mask hides nothing here. */
export const GOODBYE_TO_SERVICE = Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe9]);
