"use strict";
// The list of trials and their pages, from the data blocks of this file. Markup in them was escaped when the
// report was made; this script only chooses what is shown.
(() => {
  const PAGE = 100;
  const facts = JSON.parse(document.getElementById("data").textContent);
  const views = { run: document.getElementById("run"), trial: document.getElementById("trial") };
  const blocks = new Map();
  let rows = null;
  let place = 0;

  async function unpack(name) {
    if (!blocks.has(name)) {
      const text = document.getElementById(name).textContent;
      const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
      blocks.set(name, new Response(stream).json());
    }
    return blocks.get(name);
  }

  function wanted() {
    const [path, query] = location.hash.slice(1).split("?");
    const asked = new URLSearchParams(query || "");
    const get = (name) => asked.get(name) || "";
    return { path, q: get("q"), status: get("status"), agent: get("agent"), page: Math.max(1, Number(get("page")) || 1) };
  }

  function address(asked) {
    const query = new URLSearchParams();
    for (const name of ["status", "agent", "q"]) if (asked[name]) query.set(name, asked[name]);
    if (asked.page > 1) query.set("page", String(asked.page));
    const text = query.toString();
    return "#trials" + (text ? "?" + text : "");
  }

  async function list(asked) {
    if (!rows && !asked.q && !asked.status && !asked.agent && asked.page === 1) {
      pager(asked, Math.ceil(facts.total / PAGE)); // the first page stands in the file already
      return;
    }
    rows = rows || (await unpack("rows"));
    const words = asked.q.toLowerCase();
    const found = rows.filter((row) =>
      (!asked.status || row.s === asked.status) && (!asked.agent || facts.agents[row.a] === asked.agent) &&
      (!words || row.k.includes(words)));
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    const page = Math.min(asked.page, pages);
    const shown = found.slice((page - 1) * PAGE, page * PAGE);
    document.querySelector("[data-rows]").innerHTML = shown.map((row) => row.h).join("");
    const of = found.length === rows.length ? "" : " of " + rows.length.toLocaleString("en");
    document.querySelector("[data-count]").textContent =
      found.length.toLocaleString("en") + of + (rows.length === 1 ? " trial" : " trials");
    pager({ ...asked, page }, pages);
    for (const chip of document.querySelectorAll("[data-status]")) {
      chip.href = address({ ...asked, status: chip.dataset.status, page: 1 });
      if (chip.dataset.status === asked.status) chip.setAttribute("aria-current", "true");
      else chip.removeAttribute("aria-current");
    }
    const form = document.querySelector("form.filter");
    if (document.activeElement !== form.elements.q) form.elements.q.value = asked.q;
    if (form.elements.agent) form.elements.agent.value = asked.agent;
  }

  function pager(asked, pages) {
    const nav = document.querySelector("[data-pager]");
    nav.replaceChildren();
    if (pages < 2) return;
    const step = (text, page, rel) => {
      if (page < 1 || page > pages) return;
      const a = document.createElement("a");
      a.href = address({ ...asked, page });
      a.rel = rel;
      a.textContent = text;
      nav.append(a);
    };
    step("Earlier", asked.page - 1, "prev");
    const where = document.createElement("span");
    where.textContent = "page " + asked.page + " of " + pages;
    nav.append(where);
    step("Later", asked.page + 1, "next");
  }

  async function open(name) {
    const at = facts.places[name];
    if (at === undefined) {
      const p = document.createElement("p");
      p.className = "empty";
      p.textContent = "There is no record of this trial: it was planned and never begun.";
      const back = document.createElement("a");
      back.href = "#";
      back.textContent = "Back to the run";
      p.append(" ", back);
      views.trial.replaceChildren(p);
      return;
    }
    const part = await unpack("part-" + Math.floor(at / facts.each));
    views.trial.innerHTML = part[at % facts.each];
  }

  async function show() {
    const asked = wanted();
    const isTrial = asked.path.startsWith("trial/");
    if (isTrial) await open(decodeURIComponent(asked.path.slice(6)));
    else await list(asked);
    const before = views.trial.hidden;
    if (isTrial && before) place = scrollY;
    views.run.hidden = isTrial;
    views.trial.hidden = !isTrial;
    if (isTrial) {
      scrollTo(0, 0);
      document.getElementById("trial-title")?.focus({ preventScroll: true });
    } else if (!before) {
      scrollTo(0, place);
    } else if (asked.path === "trials" && !document.activeElement?.closest("form.filter, .trials")) {
      document.getElementById("trials").scrollIntoView();
    }
    document.documentElement.dataset.ready = location.hash || "#";
  }

  addEventListener("hashchange", show);
  const form = document.querySelector("form.filter");
  const ask = () => {
    const asked = { ...wanted(), q: form.elements.q.value.trim(), agent: form.elements.agent?.value || "", page: 1 };
    history.replaceState(null, "", address(asked));
    list(asked);
  };
  form.addEventListener("submit", (event) => { event.preventDefault(); ask(); });
  form.addEventListener("input", ask);
  show();
})();
