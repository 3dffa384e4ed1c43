/** Bodies with images and files: larger than others, and so few at a time that they never fill the memory. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { HttpProblem } from './problem';

/** Bytes of a body without images and files. */
export const bodyBytes = 1024 * 1024;
/** Bytes of a body with them: 12 MB of images as base64. Larger ones are sent with the client or the command line. */
const largeBodyBytes = 16 * 1024 * 1024;
/** Large bodies that one gateway reads at a time. */
const mostAtOnce = 8;

let reading = 0;

/** Options of a route whose body may hold images and files. */
export const largeBody = {
  bodyLimit: largeBodyBytes,
  onRequest: (
    request: FastifyRequest,
    reply: FastifyReply,
    done: (error?: Error) => void,
  ): void => {
    const length = Number(request.headers['content-length']);
    if (length <= bodyBytes) {
      done();
      return;
    }
    if (reading >= mostAtOnce) {
      const wait = 'The gateway reads as many large bodies as it may. Try again in a moment.';
      done(new HttpProblem(503, 'busy', wait, { 'retry-after': '2' }));
      return;
    }
    reading += 1;
    reply.raw.once('close', () => {
      reading -= 1;
    });
    done();
  },
} as const;
