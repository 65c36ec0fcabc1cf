"""`studio`: a local page that walks a data officer from a table to a verified release.

Three kinds of processes. The *server* (`server`, `app`, `guard`, `views`) talks to the browser and holds no
data: it loads neither numpy nor the table. The *bench* holds the table and answers questions
(`questions/`). A *job* does one heavy command (`work/`). They speak in lines of JSON.

How a screen is added
---------------------
A screen is up to four files of its own; nothing lists them, they are found by their names.

1. ``views/NAME.py`` with NAME one of `views.STEPS`. It has

   * ``ROUTES``: ``get("/NAME", show)``, ``post("/NAME/…", change)``; handlers are wrapped by
     ``@table_needed``;
   * ``async def step(studio) -> StepState``: to do, done, attention (with a hint), out of date;
   * ``def commands(studio) -> tuple[Shown, ...]``: the same as command lines and Python (`show`).

   A GET answers with ``await pages.render(request, "NAME.html.j2", "NAME", **context)``. A POST changes
   something and answers with ``pages.back(request, "/NAME")``, which leads to the GET: so the form does the
   same with scripts and without.
2. ``templates/NAME.html.j2``: ``{% extends layout %}`` and the blocks ``title``, ``main`` and ``said`` (a
   sentence for the live region). In it are ``token``, ``address``, ``facts`` (what the policy says: roles,
   privacy, method, …), ``choices``, ``project``, ``running``, ``steps``; macros of ``parts.html.j2`` as
   ``parts``: ``hidden(token, address)`` for every form, ``bar``, ``role``, ``term``, ``pages``,
   ``progress(job, …)``. A form with ``hx-boost="true"`` is sent without loading the page; without scripts
   it is a plain form. Another main button than "Continue": ``{% set main_button %}…{% endset %}`` at the
   top of the template. No inline style or script: bars are SVG attributes.
3. ``questions/NAME.py`` with ``QUESTIONS = {"name": function}``, each ``function(opened, **plain) ->
   JSON``, where ``opened.table``, ``opened.profile`` and ``opened.known(text, folder)`` are the table, its
   profile, and its columns as a policy reads them. A view asks ``await studio.ask("name", …)``, or
   ``studio.ask_policy("name", …)``, which adds ``text`` and ``folder`` of the policy. Answers are
   remembered for equal questions. An error of incrowd comes back as `bench.Refusal` with its sentence.
4. ``work/NAME.py`` with ``run(reporter, table, policy, **request) -> JSON`` for a heavy command:
   ``reporter.watch`` goes to functions that take a watch, ``reporter.part(found)`` shows something before
   the end, ``{"stopped": True, …}`` is a result that an interrupt cut short. ``table`` are the arguments of
   `Source`, ``policy`` is the path of the file. A view starts it with ``await studio.start("NAME", screen,
   label, **request)`` and shows ``studio.jobs.latest("NAME")``: ``running``, ``state``, ``parts``,
   ``result``, ``sentence``; ``job.fits(studio.session.digest, studio.open.digest)`` tells whether it is out
   of date. No cell may be in a result: it is written to ``jobs/``.

A choice is one call, one step of undo: ``await studio.edit("k to 10", changes=[(("privacy", "k"), 10)])``
or ``roles=[("age", "keep")]``; None takes a key out, comments stay, and what would be no policy raises.
Files of the project: ``studio.open.project.inside("hierarchies")``. What was done or refused is said on the
next page by ``studio.say(sentence, bad=False)``; an `InputError` that a POST raises is said so by itself.
"""
